"""One-sided evidence for metrics that have an interval or a test with alternatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.data import Direction, Evidence, Interval, MetricInfo
from pytest_t2i.statistics import inverted_p_value

ALTERNATIVES: tuple[Literal["greater", "less"], ...] = ("greater", "less")
Beyond = Literal["beyond", "within"]
SIDES: tuple[Beyond, Beyond] = ("beyond", "within")
IntervalAt = Callable[[float], Interval]
"""level -> the interval at this level; every level uses the same seed."""


def inverted(interval_at: IntervalAt, worse: Direction) -> Callable[[float, float], Evidence]:
    """Return a function (bound, level) -> evidence, from intervals that widen with their level."""

    def evidence(bound: float, level: float) -> Evidence:
        del level
        found = of_either(partial(inverted_p_value, interval_at, bound))
        return Evidence(found.within, found.beyond) if worse == "lower" else found

    return evidence


def of_either(p_value: Callable[..., float]) -> Evidence:
    """Return the evidence of a test with both alternatives: "greater" is beyond, "less" within."""
    beyond, within = (p_value(alternative=alternative) for alternative in ALTERNATIVES)
    return Evidence(beyond, within)


Data = TypeVar("Data")


def in_worst_case(
    p_value: Callable[[Data, Beyond], float], data: Data, worst: Callable[[Beyond], Data] | None
) -> Evidence:
    """Return evidence that holds in the worst case of each side, and that of the data alone.

    ``worst`` returns the data that weaken a side most; None where nothing is unknown.
    """
    beyond, within = (p_value(data, side) for side in SIDES)
    if worst is None:
        return Evidence(beyond, within)
    worst_beyond, worst_within = (p_value(worst(side), side) for side in SIDES)
    return Evidence(worst_beyond, worst_within, labelled=(beyond, within))


def adjusted(each: Sequence[Evidence | None]) -> list[Evidence]:
    """Return the evidence of a family with ``beyond`` adjusted (Benjamini-Hochberg).

    Members without evidence (None) do not count.

    >>> adjusted([Evidence(0.01, 1.0), None, Evidence(0.9, 0.2)])[0]
    Evidence(beyond=0.02, within=1.0, labelled=None)
    """
    p_values = [
        1.0 if member.beyond is None else member.beyond for member in each if member is not None
    ]
    beyond = iter(statistics.benjamini_hochberg(p_values).tolist())
    return [
        Evidence(None, None) if member is None else member._replace(beyond=next(beyond))
        for member in each
    ]


def weaker(first: Evidence, second: Evidence) -> Evidence:
    """Return the evidence that both of two ways to count support.

    >>> weaker(Evidence(0.01, 1.0), Evidence(0.2, None))
    Evidence(beyond=0.2, within=1.0, labelled=None)
    """

    def larger(pair: tuple[float | None, float | None]) -> float:
        return max(1.0 if p_value is None else p_value for p_value in pair)

    def alone(evidence: Evidence) -> tuple[float | None, float | None]:
        return evidence.labelled or (evidence.beyond, evidence.within)

    beyond, within = (larger(pair) for pair in zip(first[:2], second[:2], strict=True))
    if first.labelled is None and second.labelled is None:
        return Evidence(beyond, within)
    labelled = tuple(map(larger, zip(alone(first), alone(second), strict=True)))
    return Evidence(beyond, within, labelled=labelled)  # type: ignore[arg-type]


class _Repeating(Protocol):
    """What may hold equal pictures: a sample, or several."""

    @property
    def with_repeats(self) -> Any:
        """The same with equal pictures counted each; itself where none are."""


Counted = TypeVar("Counted", bound=_Repeating)


def despite_equal_pictures(
    members: Sequence[Counted], evidence_of: Callable[[Sequence[Counted]], list[Evidence]]
) -> list[Evidence]:
    """Return the evidence that holds whether equal pictures count once or each.

    They count once where a cache repeats what was drawn before. They count each where one group's
    pictures come from a smaller pool, as its share would shrink otherwise.
    """
    once = evidence_of(members)
    with_repeats = [member.with_repeats for member in members]
    if all(every is member for every, member in zip(with_repeats, members, strict=True)):
        return once
    evidence_with_repeats = evidence_of(with_repeats)
    return [weaker(*pair) for pair in zip(once, evidence_with_repeats, strict=True)]


def whatever_some_show(
    of_others: Callable[[float, float], Evidence], some: int, units: int, metric: MetricInfo
) -> Callable[[float, float], Evidence]:
    """Return the evidence of a mean over units that holds whatever some of them show.

    The mean over all units is m = (1 - s) o + s x, with the share s of some units, the mean o of
    the others and any value x of the metric for these. The others decide at the bound to which o
    must lie so that m lies beyond, or within, for every x.
    """
    share, low, high = some / units, metric.low, metric.high
    reach = max(-low, high)
    best, worst = {
        "lower": (high, low), "higher": (low, high), "away_from_zero": (-reach, reach),
    }[metric.worse]  # fmt: skip
    least, most = (0.0, reach) if metric.worse == "away_from_zero" else (low, high)

    def evidence(bound: float, level: float) -> Evidence:
        sides: dict[str, tuple[float | None, float | None]] = {}
        for name, value in (("beyond", best), ("within", worst)):
            at = (bound - share * value) / (1.0 - share) if some < units else math.inf
            is_possible = least <= at <= most
            rest = of_others(at, level) if is_possible else Evidence(1.0, 1.0)
            alone = rest.labelled or (rest.beyond, rest.within)
            sides[name] = (getattr(rest, name), alone[name == "within"])
        p_values, labelled = zip(sides["beyond"], sides["within"], strict=True)
        return Evidence(*p_values, labelled=labelled if labelled != p_values else None)

    return evidence


def of_gaps(gaps: Sequence[np.ndarray]) -> Callable[[float, float], Evidence]:
    """Return a function (bound, level) -> evidence of the mean gap over triplets."""

    def evidence(bound: float, level: float) -> Evidence:
        del level
        return of_either(partial(statistics.gap_p_value, gaps, bound))

    return evidence
