"""Variety: do the images of a prompt differ from one another, along an attribute and at all?

WALS (OASIS eq. 7) and the Vendi score. Tests ask for them of the fixtures ``sample``, ``samples``
and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.packaged import PackagedAudit

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need


class VarietyAudit(PackagedAudit):
    """How much of the spread lies along an attribute, and how many different images there are."""

    name = "variety"
    keeps = "VarietyPart"
    place = 35
    formerly = ("variety", "diversity")

    @property
    def recorded_type(self) -> Any:
        """Its part of a baseline file."""
        from pytest_t2i.audits.variety.change import RECORDED

        return RECORDED

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Features of images, of descriptions and of images of these."""
        from pytest_t2i.audits.variety import needs

        return needs.needs(context, test)

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """WALS of every prompt and attribute, for a baseline."""
        from pytest_t2i.audits.variety import record

        return record.recorded(context)
