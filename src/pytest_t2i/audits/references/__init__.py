"""References: how far labels are from a given distribution (``--t2i-reference``).

Tests receive the distribution as the fixture ``reference``, and the distance from ``sample`` and
``samples``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Audit, Fixture, attributes
from pytest_t2i.audits.engine.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.prompts import Reference
    from pytest_t2i.settings import Settings


def _reference(context: AuditContext, test: AskedTest) -> Reference:  # noqa: ARG001 - all tests have one
    from pytest_t2i.prompts import read_reference

    setting = context.settings.reference or ""
    return context.once(("reference", setting), lambda: read_reference(setting))


def _unmet(settings: Settings) -> str:
    if settings.reference is None:
        return "t2i: no reference given; run with --t2i-reference uniform, oasis or FILE"
    return ""


class ReferencesAudit(Audit):
    """The audit of the distance of labels from a reference distribution."""

    name = "references"
    of_sample = attributes(f"{__name__}.sample_members:PromptDistance", "total_variation_distance")
    of_samples = attributes(f"{__name__}.sample_members:ModelDistance", "total_variation_distance")
    fixtures = MappingProxyType(
        {
            "reference": Fixture(
                _reference,
                None,
                doc="The distribution of --t2i-reference; the test is skipped without one.",
                unmet=_unmet,
            )
        }
    )

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a test with a prompt or label for which the reference has no share."""
        if "reference" not in test.selection.fixtures or context.settings.reference is None:
            return
        from pytest_t2i.generation.plan import DetectorRef

        labels = context.observations.labels(DetectorRef(context.detectors[0]))
        for prompt in test.selection.prompts:
            _reference(context, test).of(prompt, labels)
