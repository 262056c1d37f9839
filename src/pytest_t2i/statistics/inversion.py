"""From intervals to one-sided p-values and back, and what the bootstraps have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares import bisected, check_choice, check_level

Alternative = Literal["greater", "less"]

HALVINGS = 16
"""Steps of the bisection over levels: a p-value is found to within 1/2 ** 17."""


def one_sided(level: float) -> float:
    """Return the level of the two-sided interval whose ends each hold at a one-sided level.

    A verdict that may be wrong in 5 % of runs on either side takes the interval at level
    ``one_sided(0.95)`` (Schuirmann 1987), each end being taken to hold at its level: FAIL where its
    low end lies beyond the limit, PASS where its high end lies within.

    Args:
        level: one-sided confidence level, in (0.5, 1).

    Returns:
        2 level - 1.

    Raises:
        ValueError: the level lies outside (0.5, 1).

    >>> round(one_sided(0.95), 12)
    0.9
    """
    if not 0.5 < level < 1.0:  # noqa: PLR2004 - at 1/2 no interval is left
        raise ValueError(f"level must lie between 0.5 and 1, got level={level!r}")
    return 2.0 * level - 1.0


def inverted_p_value(
    interval: Callable[[float], Interval],
    bound: float,
    *,
    alternative: Alternative = "greater",
    halvings: int = HALVINGS,
) -> float:
    """Return the one-sided p-value of a bound by inverting an interval that widens with its level.

    Intervals and tests are dual (Neyman 1937); it is assumed that intervals are nested, and that
    each end holds at its level. The p-value is the smallest error p of one end at which the
    interval at level 1 - 2 p leaves the bound out.

    Args:
        interval: function that returns the interval at a level in (0, 1), with one seed throughout.
        bound: the value that is tested.
        alternative: "greater" where the truth lies above the bound under the alternative (the low
            end decides), "less" where it lies below (the high end decides).
        halvings: steps of the bisection; each computes one interval.

    Returns:
        p-value in (0, 1/2], or 1 where no interval leaves the bound out. It is rounded up, never
        down: the upper end of the last bracket is returned.

    Raises:
        ValueError: the alternative is unknown, or the bound is not finite.

    >>> from pytest_t2i.statistics.shares import share_interval
    >>> found = inverted_p_value(lambda level: share_interval(19, 20, level), 0.75)
    >>> round(found, 4)
    0.0243
    """
    check_alternative(alternative)
    value = float(inputs.floats("bound", bound))

    def left_out(error: float) -> bool:
        result = interval(1.0 - 2.0 * error)
        return result.low > value if alternative == "greater" else result.high < value

    if not left_out(0.5 - 0.5**halvings):
        return 1.0
    return bisected(left_out, 0.0, 0.5, halvings)[1]


def inverting(interval: Callable[..., Interval], *, absolute: bool = False) -> Callable[..., float]:
    """Return the p-value of a bound in [0, 1], ``f(*data, bound, alternative=...)``, of intervals.

    With ``absolute`` the bound is one of the absolute value. Other options go to the interval.
    """

    def p_value(
        *data_and_bound: Any, alternative: Alternative = "greater", **options: object
    ) -> float:
        *data, bound = data_and_bound
        limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
        tested = absolute_p_value if absolute else inverted_p_value
        return tested(
            lambda level: interval(*data, level=level, **options), limit, alternative=alternative
        )

    return p_value


def absolute_p_value(
    interval: Callable[[float], Interval], bound: float, *, alternative: Alternative
) -> float:
    """Return the one-sided p-value of an absolute value from intervals of the signed value."""
    check_alternative(alternative)
    if alternative == "less":
        return inverted_p_value(lambda level: abs(interval(level)), bound, alternative="less")
    # The value exceeds the bound on the observed side, or as far on the other side by chance.
    side = interval(0.5).estimate
    tails = (inverted_p_value(lambda x: towards(interval(x), side), b) for b in (bound, -bound))
    return min(1.0, sum(tails))


def towards(interval: Interval, side: float) -> Interval:
    """Return the interval, or its mirror image at 0 where ``side`` is negative."""
    if side >= 0.0:
        return interval
    return replace(interval, estimate=-interval.estimate, low=-interval.high, high=-interval.low)


def check_alternative(alternative: str) -> None:
    """Raise a ValueError for an alternative that is neither "greater" nor "less"."""
    check_choice("alternative", alternative, ("greater", "less"))


def expanded_tail(clusters: int, level: float) -> float:
    """Return the tail to cut off a bootstrap distribution of a mean over few units.

    .. math:: Phi(-sqrt(n / (n - 1)) t_{n-1, (1+level)/2})      (Hesterberg 2015, section 5.3)
    """
    student = float(scipy.stats.t.ppf((1.0 + level) / 2.0, clusters - 1))
    return float(scipy.stats.norm.cdf(-math.sqrt(clusters / (clusters - 1)) * student))


def percentiles(values: inputs.Floats, tail: float) -> tuple[float, float]:
    """Return the lower and upper quantile that leave ``tail`` on either side."""
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


def permutation_p_value(observed: float, draws: Iterable[inputs.Floats]) -> float:
    """Return (1 + draws at least as large) / (1 + draws), exact (Phipson and Smyth 2010).

    The caller takes the rounding of equal sums from ``observed``.
    """
    drawn = [(int(np.count_nonzero(part >= observed)), np.size(part)) for part in draws]
    reached, times = map(sum, zip(*drawn, strict=True))
    return (1.0 + reached) / (1.0 + times)


def check_resampling(level: float, resamples: int) -> None:
    """Raise a ValueError for a level outside (0, 1) or too few resamples for a tail."""
    check_level(level)
    if resamples < 100:  # noqa: PLR2004 - fewer leave no value beyond a 1 % quantile
        raise ValueError(f"resamples must be at least 100, got resamples={resamples!r}")
