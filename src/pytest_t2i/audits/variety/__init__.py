"""Variety: do the images of a prompt differ from one another along an attribute?

It measures WALS (OASIS eq. 7). Tests use the fixtures ``sample``, ``samples``
and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import PackagedAudit, attributes
from pytest_t2i.audits.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need


class VarietyAudit(PackagedAudit):
    """The audit of the spread along an attribute."""

    name = "variety"
    keeps = "VarietyPart"
    place = 35
    of_sample = attributes(f"{__name__}.sample_members:PromptVariety", "wals")
    of_samples = attributes(f"{__name__}.sample_members:ModelVariety", "wals")

    @property
    def recorded_type(self) -> Any:
        """The type of its part of a baseline file."""
        from pytest_t2i.audits.variety.change import RECORDED

        return RECORDED

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for features of images, of descriptions and of images of descriptions."""
        from pytest_t2i.audits.variety import measure

        return measure.needs(context, test)

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return WALS of every prompt and attribute, for a baseline."""
        from pytest_t2i.audits.variety import report

        return report.recorded(context)
