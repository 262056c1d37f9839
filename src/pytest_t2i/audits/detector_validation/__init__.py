"""Detector validation: is a detector right about images that people have labelled?

It follows Lyu section 3.5, Tables 1 to 3. Tests use the fixtures ``trial`` and ``trials``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.audits.detector_validation.measure import Trial
    from pytest_t2i.audits.detector_validation.trials import Trials


def _trial(context: AuditContext, test: AskedTest) -> Trial:
    return _trials(context, test)[test.selection.detectors[0]]


def _trials(context: AuditContext, test: AskedTest) -> Trials:  # noqa: ARG001 - all tests have one set
    from pytest_t2i.audits.detector_validation import report

    return report.trials(context)


class DetectorValidation(PackagedAudit):
    """The audit of every detector on labelled images: filter, labels and bias scores."""

    name = "detector_validation"
    keeps = "TrialsPart"
    place = 90
    formerly = ("trials",)
    fixtures = MappingProxyType(
        {
            "trial": Fixture(
                _trial,
                "detectors",
                one_by_one=True,
                doc="One detector on the labelled images; the test runs once per detector.",
            ),
            "trials": Fixture(_trials, "detectors", doc="Every detector on the labelled images."),
        }
    )

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return what each detector said of each image, for a baseline."""
        from pytest_t2i.audits.detector_validation import report

        return report.recorded(context)
