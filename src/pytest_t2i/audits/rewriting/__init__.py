"""Rewriting: what a service adds to a prompt before drawing, where it reports the revised prompt.

Tests use the fixture ``rewriting``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.data import MetricInfo

if TYPE_CHECKING:
    from pytest_t2i.audits.rewriting.measure import Rewriting
    from pytest_t2i.audits.rewriting.report import RewritingPart
    from pytest_t2i.audits.summary import Step
    from pytest_t2i.settings import Settings

OWN = "own definition: revised_prompt against the prompt"
METRICS = (
    MetricInfo("rewritten_share", 0.0, 1.0, "higher", OWN, "share of prompts rewritten"),
    *(
        MetricInfo(f"{kind}_added_share", 0.0, 1.0, "higher", OWN, f"share with {a} word added")
        for kind, a in (("gender", "a gender"), ("age", "an age"), ("ethnicity", "an ethnicity"))
    ),
)


def _rewriting(context: AuditContext, test: AskedTest) -> Rewriting:
    from pytest_t2i.audits.rewriting import measure

    return measure.rewriting_of(context, test)


def _unmet(settings: Settings) -> str:
    if settings.mitigation is not None:
        return (
            "t2i: a mitigation rewrites prompts itself; run without --t2i-mitigation to see what "
            "the service adds"
        )
    return ""


def _unseen(context: AuditContext, test: AskedTest) -> str:
    rewriting = _rewriting(context, test)
    if rewriting.told or rewriting.is_service:
        return ""
    return (
        f"t2i: {context.settings.model} draws prompts as they are, or does not say what it draws "
        "(revised_prompt): there is no rewriting to judge"
    )


class RewritingAudit(PackagedAudit):
    """The audit of how often a service rewrites prompts, and which people it adds."""

    name = "rewriting"
    keeps = "RewritingPart"
    place = 60
    metrics = METRICS
    fixtures = MappingProxyType(
        {
            "rewriting": Fixture(
                _rewriting,
                "prompts",
                doc="What a service added to every prompt of the t2i marker before it drew it.",
                unmet=_unmet,
                unseen=_unseen,
            )
        }
    )

    def next_steps(self, record: RewritingPart, context: AuditContext) -> Iterable[Step]:
        """Suggest what to do about people whom the service adds."""
        from pytest_t2i.audits.rewriting import report

        return report.next_steps(record, context.checks)
