"""Emergence: at which steps of the making an attribute gets into the images (OASIS eq. 10-11, 4.6).

SPI, and what the denoising preview of each step shows. Tests ask for them of the fixtures
``sample`` and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.summary import Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.emergence.record import EmergencePart
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section


class EmergenceAudit(Audit["EmergencePart"]):
    """How an attribute gets into a prompt's images, step by step."""

    name = "emergence"
    place = 70
    formerly = ("emergence", "foreseen")

    @property
    def record_type(self) -> type[EmergencePart]:
        """Its part of run.json."""
        from pytest_t2i.audits.emergence.record import EmergencePart

        return EmergencePart

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Velocities held against an attribute's descriptions, and what denoising previews show."""
        return _needs(context, test)

    def record(self, context: AuditContext) -> EmergencePart | None:
        """SPI of every attribute that was asked for, and what denoising previews show."""
        from pytest_t2i.audits.emergence import record

        return record.measured(context)

    def sections(self, record: EmergencePart, run: Any) -> Sequence[Section]:  # noqa: ARG002 - as it is called
        """Curves over the steps, of SPI and of shares among denoising previews."""
        from pytest_t2i.audits.emergence import report

        return report.sections(record)

    def summary(self, record: EmergencePart) -> Summary:
        """What the first step adds most of, in words, and all curves as tables."""
        from pytest_t2i.audits.emergence import frames, report

        return Summary(report.in_words(record), frames=frames.frames(record))


def _needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    from pytest_t2i.audits.emergence import measure, predisposition

    yield from measure.needs(context, test)
    yield from predisposition.needs(context, test)
