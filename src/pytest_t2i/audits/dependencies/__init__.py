"""Dependencies: what brought an object into a picture, the prompt or the scene (Wu section 6)?

Tests ask with the fixture ``dependencies``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.audits.objects import EXPECTED
from pytest_t2i.audits.summary import Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.dependencies.measure import Dependencies
    from pytest_t2i.audits.dependencies.record import DependenciesRecord
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section


def _dependencies(context: AuditContext, test: AskedTest) -> Dependencies:
    from pytest_t2i.audits.dependencies import measure

    return measure.dependencies_of(context, test)


class DependenciesAudit(Audit["DependenciesRecord"]):
    """The objects of triplets by what brought them in."""

    name = "dependencies"
    version = 2
    after = ("objects",)
    place = 60
    formerly = ("dependencies",)
    keywords = MappingProxyType({"expected": EXPECTED})
    fixtures = MappingProxyType(
        {
            "dependencies": Fixture(
                _dependencies,
                "triplets",
                doc="The objects of triplets by what brought them in, the prompt or the scene.",
                finds=True,
                extras=("nouns",),
            )
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Objects and word attention of all three variants."""
        from pytest_t2i.audits.dependencies import measure

        return measure.needs(context, test) if self.name in test.selection.fixtures else ()

    @property
    def record_type(self) -> type[DependenciesRecord]:
        """Its part of run.json."""
        from pytest_t2i.audits.dependencies.record import DependenciesRecord

        return DependenciesRecord

    def record(self, context: AuditContext) -> DependenciesRecord | None:
        """The groups of all triplets, each with its most images."""
        from pytest_t2i.audits.dependencies import record

        return record.measured(context)

    def upgraded(self, plain: Any, version: int) -> Any:
        """In an older run.json the record stands in a table of one key."""
        return plain["dependencies"] if version == 1 else plain

    def sections(self, record: DependenciesRecord, run: Any) -> Sequence[Section]:  # noqa: ARG002
        """A picture of each group, charts and tables."""
        from pytest_t2i.audits.dependencies import report

        return report.sections(record)

    def summary(self, record: DependenciesRecord) -> Summary:
        """A line for cards, and the groups as a table."""
        from pytest_t2i.audits.dependencies import report

        frames = {"dependency_groups": report.frame(record)}
        return Summary(report.headline(record), frames=frames)
