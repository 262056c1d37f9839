"""Stereotypes: an attribute's share among a concept's images against the real world (OASIS eq. 3).

Tests use the fixtures ``stereotype`` and ``stereotypes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.summary import NamedRecord

if TYPE_CHECKING:
    from pytest_t2i.audits.stereotypes.report import StereotypesPart
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section


class StereotypesAudit(PackagedAudit):
    """The audit of how much more often an attribute is shown than it occurs in the real world."""

    name = "stereotypes"
    keeps = "StereotypesPart"
    after = ("emergence", "parity", "variety")
    place = 30
    unmeasured = "Stereotypes were not measured in this run."
    fixtures = MappingProxyType(
        {
            "stereotype": Fixture(
                f"{__name__}.measure:association_of",
                "stereotypes",
                one_by_one=True,
                doc="One stereotype as measured; the test runs once per stereotype of its t2i "
                "marker.",
                stopping=f"{__name__}.measure:StereotypeStopping",
            ),
            "stereotypes": Fixture(
                f"{__name__}.measure:associations",
                "stereotypes",
                doc="Every stereotype of the t2i marker, as measured.",
            ),
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for detections of the attribute, and for detectors' own labels."""
        from pytest_t2i.audits.stereotypes import measure

        return measure.needs(context, test)

    def compare(
        self,
        models: Sequence[NamedRecord[StereotypesPart]],
        *,
        level: float,  # noqa: ARG002 - intervals are those of the runs
        seed: int,  # noqa: ARG002 - nothing is drawn
    ) -> Sequence[Section]:
        """Return planes of scores against variety, with a point for each attribute and model."""
        from pytest_t2i.audits.stereotypes import report

        return report.planes_of_models(models)
