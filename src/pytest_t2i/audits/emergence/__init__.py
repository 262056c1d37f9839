"""Emergence: at which steps of the making an attribute gets into the images (OASIS eq. 10-11, 4.6).

SPI, and what each step foresees. Tests ask for them of the fixtures ``sample`` and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need


class EmergenceAudit(Audit[Any]):
    """How an attribute gets into a prompt's images, step by step."""

    name = "emergence"
    place = 70

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Velocities held against an attribute's descriptions, and what the steps foresee."""
        return _needs(context, test)


def _needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    from pytest_t2i.audits.emergence import measure, predisposition

    yield from measure.needs(context, test)
    yield from predisposition.needs(context, test)
