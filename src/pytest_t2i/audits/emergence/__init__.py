"""Emergence: at which denoising steps an attribute gets into the images (OASIS eq. 10-11, 4.6).

It measures SPI, and what the denoising preview of each step shows. Tests use the fixtures
``sample`` and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import PackagedAudit, attributes
from pytest_t2i.audits.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need


class EmergenceAudit(PackagedAudit):
    """The audit of how an attribute gets into a prompt's images, step by step."""

    name = "emergence"
    keeps = "EmergencePart"
    place = 70
    of_sample = attributes(
        f"{__name__}.sample_members:PromptEmergence", "spi", "foreseen", "foreseen_label"
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterator[Need]:
        """Return the need for velocities compared with descriptions, and for denoising previews."""
        from pytest_t2i.audits.emergence import measure, predisposition

        yield from measure.needs(context, test)
        yield from predisposition.needs(context, test)
