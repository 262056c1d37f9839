"""Stereotypes: an attribute's share among a concept's images against the real world (OASIS eq. 3).

Tests ask with the fixtures ``stereotype`` and ``stereotypes``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture

if TYPE_CHECKING:
    from pytest_t2i.audits.stereotypes.measure import Association
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.settings import Settings


def _stereotype(context: AuditContext, test: AskedTest) -> Association:
    from pytest_t2i.audits.stereotypes import measure

    return measure.association_of(context, test)


def _stereotypes(context: AuditContext, test: AskedTest) -> tuple[Association, ...]:
    from pytest_t2i.audits.stereotypes import measure

    return tuple(measure.associations(context, test))


def _watched(settings: Settings) -> Collection[str]:  # noqa: ARG001 - as it is called
    return ("stereotype_score",)


class StereotypesAudit(Audit[Any]):
    """How much more often an attribute is shown than it occurs in the real world."""

    name = "stereotypes"
    after = ("emergence", "variety")
    place = 30
    fixtures = MappingProxyType(
        {
            "stereotype": Fixture(
                _stereotype,
                "stereotypes",
                one_by_one=True,
                doc="One stereotype as measured; the test runs once per stereotype of its t2i "
                "marker.",
                watched=_watched,
            ),
            "stereotypes": Fixture(
                _stereotypes, "stereotypes", doc="Every stereotype of the t2i marker, as measured."
            ),
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """The attribute looked for in every image, and the detectors' own labels."""
        from pytest_t2i.audits.stereotypes import measure

        return measure.needs(context, test)
