"""One-sided evidence for metrics that have an interval or a test with alternatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.data import Direction, Evidence, Interval
from pytest_t2i.statistics import inverted_p_value
from pytest_t2i.statistics.shares import Beyond

ALTERNATIVES: Mapping[Beyond, Literal["greater", "less"]] = MappingProxyType(
    {"beyond": "greater", "within": "less"}
)
"""What is supported -> the alternative of the test that supports it."""
IntervalAt = Callable[[float], Interval]
"""level -> the interval at this level; every level uses the same seed."""


def inverted(interval_at: IntervalAt, worse: Direction) -> Callable[[float, float], Evidence]:
    """Return a function (bound, level) -> evidence, from intervals that widen with their level."""

    def evidence(bound: float, level: float) -> Evidence:
        del level
        of_sides = of_either(partial(inverted_p_value, interval_at, bound))
        return Evidence(of_sides.within, of_sides.beyond) if worse == "lower" else of_sides

    return evidence


def of_either(p_value: Callable[..., float]) -> Evidence:
    """Return the evidence of a test with both alternatives: "greater" is beyond, "less" within."""
    beyond, within = (p_value(alternative=alternative) for alternative in ALTERNATIVES.values())
    return Evidence(beyond, within)


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


def of_gaps(gaps: Sequence[np.ndarray]) -> Callable[[float, float], Evidence]:
    """Return a function (bound, level) -> evidence of the mean gap over triplets."""

    def evidence(bound: float, level: float) -> Evidence:
        del level
        return of_either(partial(statistics.gap_p_value, gaps, bound))

    return evidence
