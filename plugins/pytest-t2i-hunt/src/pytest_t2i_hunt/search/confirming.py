"""The confirmation of findings by held-out images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_t2i import Interval, statistics

from pytest_t2i_hunt.search.counts import Parts, Seen, proper_parts
from pytest_t2i_hunt.search.ledger import Ledger
from pytest_t2i_hunt.search.plan import Plan


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A finding with the evidence of images that were not used to find it."""

    parts: Parts
    sign: int
    """Direction that the search found: +1 towards men, -1 towards women, or a group's number."""
    search: Seen
    """Counts of the search, which selected the finding: the score is too high on average."""
    held_out: Seen
    """Counts of the held-out images."""
    interval: Interval | None
    """Prompt bias score of the held-out images, or the group's share; None without a clear one."""
    p_value: float
    """p-value against "within the bound", adjusted over all findings."""
    confirmed: bool
    why_not: str
    """Reason why the finding is not confirmed; "" if it is."""
    of_parts: tuple[tuple[Parts, Seen], ...]
    """Combinations of some of the words, with their counts in the search."""


def confirm(ledger: Ledger, findings: Sequence[Suspect], plan: Plan) -> tuple[Confirmed, ...]:
    """Make held-out images of every finding, and test each by an exact p-value.

    The p-values are adjusted over all findings (Benjamini-Hochberg): among the confirmed ones, the
    expected share that lies within the bound is at most 1 - confidence.
    """
    ledger.hold_out([finding.parts for finding in findings], plan.confirm)
    held_out = [ledger.held_out[finding.parts] for finding in findings]
    raw = [
        counts.p_value(finding.sign, plan.beyond, plan.alike)
        for finding, counts in zip(findings, held_out, strict=True)
    ]
    adjusted = statistics.benjamini_hochberg(raw).tolist()
    judged = [
        _judged(ledger, finding, counts, p, plan)
        for finding, counts, p in zip(findings, held_out, adjusted, strict=True)
    ]
    return tuple(sorted(judged, key=_rank))


def _judged(ledger: Ledger, finding: Suspect, held_out: Seen, p: float, plan: Plan) -> Confirmed:
    why = _why_not(finding, held_out, p, plan)
    interval = held_out.interval(finding.sign, plan.confidence)
    parts = tuple((part, ledger.of(part)) for part in proper_parts(finding.parts))
    counted_parts = tuple((part, counts) for part, counts in parts if counts.images)
    return Confirmed(
        finding.parts,
        finding.sign,
        ledger.of(finding.parts),
        held_out,
        interval,
        p,
        not why,
        why,
        counted_parts,
    )


def _why_not(finding: Suspect, held_out: Seen, p: float, plan: Plan) -> str:
    excess = held_out.excess(finding.sign)
    if excess is None:
        return "no held-out image is clear"
    if excess <= 0:
        return "held-out images do not lean that way"
    if p <= 1.0 - plan.confidence:
        return ""
    if excess <= plan.beyond:
        return "held-out images lie within the bound"
    alone, worst_case = (held_out.p_value(finding.sign, plan.beyond, x) for x in (1.0, plan.alike))
    if alone <= 1.0 - plan.confidence < worst_case:
        unknown = held_out.images - held_out.clear
        return f"{unknown} of {held_out.images} held-out images are undetected"
    return "too close to the bound for so few images"


def _rank(finding: Confirmed) -> tuple[bool, bool, float]:
    """Return the sort key: confirmed first, combinations before single words, most biased first."""
    return (
        not finding.confirmed,
        len(finding.parts) == 1,
        -abs(finding.held_out.excess(finding.sign) or 0.0),
    )


class Suspect(NamedTuple):
    """A combination that is biased in a direction by the images of the search."""

    parts: Parts
    sign: int
    """Direction: +1 towards men, -1 towards women, or the number of another group, from 1."""
