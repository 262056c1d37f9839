"""Detector validation: is a detector right about images that people have labelled?

Lyu section 3.5, Tables 1 to 3. Tests ask for it of the fixtures ``trial`` and ``trials``.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.audits.summary import Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.detector_validation.measure import Trial
    from pytest_t2i.audits.detector_validation.record import TrialsPart
    from pytest_t2i.audits.detector_validation.trials import Trials
    from pytest_t2i.sections import Section


def _trial(context: AuditContext, test: AskedTest) -> Trial:
    return _trials(context, test)[test.selection.detectors[0]]


def _trials(context: AuditContext, test: AskedTest) -> Trials:  # noqa: ARG001 - all tests have one set
    from pytest_t2i.audits.detector_validation import record

    return record.trials(context)


class DetectorValidation(Audit["TrialsPart"]):
    """Every detector on the labelled images: its filter, its labels, the scores by it."""

    name = "detector_validation"
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

    @property
    def record_type(self) -> type[TrialsPart]:
        """Its part of run.json."""
        from pytest_t2i.audits.detector_validation.record import TrialsPart

        return TrialsPart

    def record(self, context: AuditContext) -> TrialsPart | None:
        """Every detector, where a test asked for it."""
        from pytest_t2i.audits.detector_validation import record

        return record.measured(context)

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """What each detector said of each image, for a baseline."""
        from pytest_t2i.audits.detector_validation import record

        return record.recorded(context)

    def sections(self, record: TrialsPart, run: Any) -> Sequence[Section]:  # noqa: ARG002 - the record has it all
        """A table like Lyu Tables 1 to 3, and the mistakes."""
        from pytest_t2i.audits.detector_validation import report

        return report.sections(record)

    def summary(self, record: TrialsPart) -> Summary:
        """The table without the mistakes."""
        from pytest_t2i.audits.detector_validation import report

        return Summary(
            frames=report.frames(record),
            measured=report.measured(record),
            labels=report.labels(record),
        )
