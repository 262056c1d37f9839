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
    ledger.hold_out([one.parts for one in findings], plan.confirm)
    held = [ledger.held_out[one.parts] for one in findings]
    raw = [
        _p_value(counts, one.sign, plan.beyond) for one, counts in zip(findings, held, strict=True)
    ]
    adjusted = statistics.benjamini_hochberg(raw).tolist()
    found = [
        _judged(ledger, one, counts, p, plan)
        for one, counts, p in zip(findings, held, adjusted, strict=True)
    ]
    return tuple(sorted(found, key=_rank))


def _p_value(counts: Counts, sign: int, beyond: float) -> float:
    """1 where there is no evidence, or it points the other way."""
    if counts.score is None or counts.score * sign <= 0:
        return 1.0
    return statistics.bias_p_value(counts.male, counts.female, beyond)


def _judged(ledger: Ledger, one: Suspect, held: Counts, p: float, plan: Plan) -> Confirmed:
    why = _why_not(one, held, p, plan)
    interval = None
    if held.clear:
        interval = statistics.prompt_bias_interval(held.male, held.female, plan.confidence)
    parts = tuple((part, ledger.of(part)) for part in proper_parts(one.parts))
    seen = tuple((part, counts) for part, counts in parts if counts.images)
    return Confirmed(
        one.parts, one.sign, ledger.of(one.parts), held, interval, p, not why, why, seen
    )


def _why_not(one: Suspect, held: Counts, p: float, plan: Plan) -> str:
    if held.score is None:
        return "no held-out image is clear"
    if held.score * one.sign <= 0:
        return "held-out images do not lean that way"
    unknown = held.images - held.clear
    bounds = abs(statistics.worst_case_bounds(held.male, held.female, unknown))
    if bounds.leave_open(plan.beyond):
        return f"{unknown} of {held.images} held-out images are undetected"
    if p > 1.0 - plan.confidence:
        return (
            "too close to the bound for so few images"
            if abs(held.score) > plan.beyond
            else ("held-out images lie within the bound")
        )
    return ""


def _rank(one: Confirmed) -> tuple[bool, bool, float]:
    """Confirmed ones first, combinations before single words, the most biased first."""
    return not one.confirmed, len(one.parts) == 1, -abs(one.held_out.score or 0.0)
