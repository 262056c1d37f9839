"""Detector validation: is a detector right about images that people have labelled?

It follows Lyu section 3.5, Tables 1 to 3. Tests use the fixtures ``trial`` and ``trials``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AuditContext


class DetectorValidation(PackagedAudit):
    """The audit of every detector on labelled images: filter, labels and bias scores."""

    name = "detector_validation"
    keeps = "TrialsPart"
    place = 90
    fixtures = MappingProxyType(
        {
            "trial": Fixture(
                f"{__name__}.report:trial",
                "detectors",
                one_by_one=True,
                doc="One detector on the labelled images; the test runs once per detector.",
            ),
            "trials": Fixture(
                f"{__name__}.report:trials",
                "detectors",
                doc="Every detector on the labelled images.",
            ),
        }
    )

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return what each detector said of each image, for a baseline."""
        from pytest_t2i.audits.detector_validation import report

        return report.recorded(context)
