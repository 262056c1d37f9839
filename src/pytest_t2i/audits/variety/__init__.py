"""Variety: do the images of a prompt differ from one another, along an attribute and at all?

WALS (OASIS eq. 7) and the Vendi score. Tests ask for them of the fixtures ``sample``, ``samples``
and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.summary import Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.variety.record import VarietyPart
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section


class VarietyAudit(Audit["VarietyPart"]):
    """How much of the spread lies along an attribute, and how many different images there are."""

    name = "variety"
    place = 35
    formerly = ("variety", "diversity")

    @property
    def record_type(self) -> type[VarietyPart]:
        """Its part of run.json."""
        from pytest_t2i.audits.variety.record import VarietyPart

        return VarietyPart

    @property
    def recorded_type(self) -> Any:
        """Its part of a baseline file."""
        from pytest_t2i.audits.variety.change import RECORDED

        return RECORDED

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Features of images, of descriptions and of images of these."""
        from pytest_t2i.audits.variety import needs

        return needs.needs(context, test)

    def record(self, context: AuditContext) -> VarietyPart | None:
        """Every prompt and attribute that was observed, each once, with the most images."""
        from pytest_t2i.audits.variety import record

        return record.measured(context)

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """WALS of every prompt and attribute, for a baseline."""
        from pytest_t2i.audits.variety import record

        return record.recorded(context)

    def sections(self, record: VarietyPart, run: Any) -> Sequence[Section]:
        """Charts of WALS and of the Vendi score."""
        from pytest_t2i.audits.variety import report

        return report.sections(record, run.checks)

    def summary(self, record: VarietyPart) -> Summary:
        """Both as tables."""
        from pytest_t2i.audits.variety import report

        return Summary(frames=report.frames(record))
