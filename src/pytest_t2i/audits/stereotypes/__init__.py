"""Stereotypes: an attribute's share among a concept's images against the real world (OASIS eq. 3).

Tests use the fixtures ``stereotype`` and ``stereotypes``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.summary import NamedRecord

if TYPE_CHECKING:
    from pytest_t2i.audits.early_stopping import State
    from pytest_t2i.audits.stereotypes.measure import Association
    from pytest_t2i.audits.stereotypes.report import StereotypesPart
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section
    from pytest_t2i.settings import Settings
    from pytest_t2i.statistics.group_sequential import SequentialTest


def _stereotype(context: AuditContext, test: AskedTest) -> Association:
    from pytest_t2i.audits.stereotypes import measure

    return measure.association_of(context, test)


def _stereotypes(context: AuditContext, test: AskedTest) -> tuple[Association, ...]:
    from pytest_t2i.audits.stereotypes import measure

    return tuple(measure.associations(context, test))


def _tested(selection: Any, metric: str, test: SequentialTest) -> SequentialTest | None:
    """Return the test of a case's stereotype: its share against real-world share plus limit.

    Returns None where no share can exceed this sum.
    """
    from pytest_t2i.statistics.shares import in_direction

    del metric
    (stereotype,) = selection.stereotypes
    *_, real = in_direction(0, 0, stereotype.expected, stereotype.direction)
    edge = real + test.bound
    return replace(test, folded=False, bound=edge) if edge < 1.0 else None


def _settled(member: Association) -> State | None:
    from pytest_t2i.audits.score import settled
    from pytest_t2i.audits.stereotypes.measure import EXCESS

    return settled(EXCESS, member)


def _watched(settings: Settings) -> Collection[str]:  # noqa: ARG001 - as it is called
    return ("stereotype_score",)


class StereotypesAudit(PackagedAudit):
    """The audit of how much more often an attribute is shown than it occurs in the real world."""

    name = "stereotypes"
    keeps = "StereotypesPart"
    after = ("emergence", "parity", "variety")
    place = 30
    formerly = ("stereotypes",)
    unmeasured = "Stereotypes were not measured in this run."
    fixtures = MappingProxyType(
        {
            "stereotype": Fixture(
                _stereotype,
                "stereotypes",
                one_by_one=True,
                doc="One stereotype as measured; the test runs once per stereotype of its t2i "
                "marker.",
                watched=_watched,
                tested=_tested,
                settled=_settled,
            ),
            "stereotypes": Fixture(
                _stereotypes, "stereotypes", doc="Every stereotype of the t2i marker, as measured."
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
