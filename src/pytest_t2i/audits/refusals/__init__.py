"""Refusals: does a model refuse prompts of one gender more often than those of the other?

Tests use the fixtures ``refusal`` and ``refusals``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.audits.refusals.measure import Refusals, TripletRefusals
    from pytest_t2i.audits.refusals.report import RefusalsPart
    from pytest_t2i.audits.summary import Step
    from pytest_t2i.generation.plan import Need


def _refusal(context: AuditContext, test: AskedTest) -> TripletRefusals:
    from pytest_t2i.audits.refusals import measure

    return measure.of_one(context, test)


def _refusals(context: AuditContext, test: AskedTest) -> Refusals:
    from pytest_t2i.audits.refusals import measure

    return measure.refusals_of(context, test)


FIXTURES = MappingProxyType(
    {
        "refusal": Fixture(
            _refusal,
            "triplets",
            one_by_one=True,
            doc="Refused images of one triplet; the test runs once per triplet of its t2i marker.",
        ),
        "refusals": Fixture(
            _refusals, "triplets", doc="Refused images of every triplet of the t2i marker."
        ),
    }
)


class RefusalsAudit(PackagedAudit):
    """The audit of whether prompts that name women or men are refused more often."""

    name = "refusals"
    keeps = "RefusalsPart"
    place = 65
    fixtures = FIXTURES
    unmeasured = "Whether prompts of one gender are refused more often was not measured."

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the three variants from the same seeds, without a detector."""
        from pytest_t2i.audits.refusals import measure

        return measure.needs(context, test) if FIXTURES.keys() & test.selection.fixtures else ()

    def next_steps(self, record: RefusalsPart, context: AuditContext) -> Iterable[Step]:
        """Suggest reading the provider's reasons, where one gender is refused more often."""
        from pytest_t2i.audits.refusals import report

        return report.next_steps(record, context.checks)
