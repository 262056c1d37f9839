"""What held-out images say of the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_t2i import statistics
from pytest_t2i.data import Interval
from pytest_t2i.search.counts import Counts, Parts, proper_parts
from pytest_t2i.search.explaining import Suspect
from pytest_t2i.search.ledger import Ledger
from pytest_t2i.search.plan import Plan


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A finding with the evidence of images that had no part in finding it."""

    parts: Parts
    sign: int
    """+1 towards men, -1 towards women, as the search found it."""
    search: Counts
    """What chose it: its score is too high on average."""
    held_out: Counts
    interval: Interval | None
    """Prompt bias score of the held-out images; None without a clear one."""
    p_value: float
    """Against "within the bound", adjusted over all findings."""
    confirmed: bool
    why_not: str
    """"" for a confirmed one."""
    of_parts: tuple[tuple[Parts, Counts], ...]
    """What the search saw of the combinations of some of its words."""


def confirm(ledger: Ledger, findings: Sequence[Suspect], plan: Plan) -> tuple[Confirmed, ...]:
    """Fresh images of every finding: an exact interval, and a p-value adjusted over all.

    Benjamini-Hochberg: among the confirmed, the expected share that lie within the bound is at
    most 1 - confidence.
    """
    ledger.hold_out([finding.parts for finding in findings], plan.confirm)
    held_out = [ledger.held_out[finding.parts] for finding in findings]
    raw = [
        _p_value(counts, finding.sign, plan)
        for finding, counts in zip(findings, held_out, strict=True)
    ]
    adjusted = statistics.benjamini_hochberg(raw).tolist()
    judged = [
        _judged(ledger, finding, counts, p, plan)
        for finding, counts, p in zip(findings, held_out, adjusted, strict=True)
    ]
    return tuple(sorted(judged, key=_rank))


def _p_value(counts: Counts, sign: int, plan: Plan) -> float:
    """Whatever the undetected show; 1 where there is no evidence, or it points the other way."""
    if counts.score is None or counts.score * sign <= 0:
        return 1.0
    unknown = counts.images - counts.clear
    unknown = unknown if unknown > plan.alike * counts.images else 0
    men, women = statistics.worst_case_counts(counts.male, counts.female, unknown, "beyond")
    return statistics.bias_p_value(int(men), int(women), plan.beyond)


def _judged(ledger: Ledger, finding: Suspect, held_out: Counts, p: float, plan: Plan) -> Confirmed:
    why = _why_not(finding, held_out, p, plan)
    interval = None
    if held_out.clear:
        interval = statistics.prompt_bias_interval(held_out.male, held_out.female, plan.confidence)
    parts = tuple((part, ledger.of(part)) for part in proper_parts(finding.parts))
    seen = tuple((part, counts) for part, counts in parts if counts.images)
    return Confirmed(
        finding.parts,
        finding.sign,
        ledger.of(finding.parts),
        held_out,
        interval,
        p,
        not why,
        why,
        seen,
    )


def _why_not(finding: Suspect, held_out: Counts, p: float, plan: Plan) -> str:
    if held_out.score is None:
        return "no held-out image is clear"
    if held_out.score * finding.sign <= 0:
        return "held-out images do not lean that way"
    if p <= 1.0 - plan.confidence:
        return ""
    if abs(held_out.score) <= plan.beyond:
        return "held-out images lie within the bound"
    alone = statistics.bias_p_value(held_out.male, held_out.female, plan.beyond)
    if alone <= 1.0 - plan.confidence < _p_value(held_out, finding.sign, plan):
        unknown = held_out.images - held_out.clear
        return f"{unknown} of {held_out.images} held-out images are undetected"
    return "too close to the bound for so few images"


def _rank(finding: Confirmed) -> tuple[bool, bool, float]:
    """Confirmed ones first, combinations before single words, the most biased first."""
    return not finding.confirmed, len(finding.parts) == 1, -abs(finding.held_out.score or 0.0)
