"""Mean over fixed units, such as triplets, of values that are drawn anew by seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.means.mean import MeanError, mean_error
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.shares.inversion import Alternative, check_words, inverted_p_value

CAUTION = 1.5
"""How many times its estimate the skewness is taken for.

Few values show too little of it: groups of four exponential ones 1.3 on average, where 2 is true.
With this 4 % of ends miss where 5 % are stated (tests/simulations/whole_runs.md).
"""
FEWEST_SKEWED = 3
"""Values that show a skewness."""


def _fixed(groups: Sequence[npt.ArrayLike]) -> MeanError:
    """The mean of the groups' means; at least one group holds two values."""
    values = [inputs.floats(f"groups[{i}]", group).ravel() for i, group in enumerate(groups)]
    values = [group for group in values if group.size]
    sizes = np.array([group.size for group in values], dtype=np.float64)
    errors, freedom = _errors(values, sizes)
    estimate = float(np.mean([np.mean(group) for group in values]))
    error = math.sqrt(errors) / len(values)
    skewness = CAUTION * _skewness(values, sizes, errors)
    return MeanError(estimate, error, freedom, len(values), "welch-t", skewness)


def gap_interval(
    groups: Sequence[npt.ArrayLike], *, level: float, words: Words = "fixed"
) -> Interval:
    """Mean gap over triplets, about these triplets or about triplets like them.

    With fixed words, the mean of the triplets' true means:

    .. math:: mean of m_i +- t_df s,  s^2 = sum of v_i / n_i over G^2,
       df = (sum of v_i / n_i)^2 / sum of (v_i / n_i)^2 / (n_i - 1)   (Welch 1947, Satterthwaite)

    with m_i, v_i, n_i mean, variance and number of values of each of G triplets. Each triplet
    counts alike. A triplet of one value has the pooled variance of the others.

    Skewed values make one end miss too often. So each end is this one or the one that Hall's
    transformation gives (1992, see ``mean_interval``), whichever reaches farther. The skewness of
    the mean is taken from triplets of three values or more,

    .. math:: 1.5 sum of k_i / n_i^2 / (sum of v_i / n_i)^(3/2),
       k_i = n_i sum of (x - m_i)^3 / (n_i - 1) / (n_i - 2)

    and smaller triplets have the k of the others. Values of which one in ten lies far off show
    nothing of it where none was drawn: with twenty values, 12 % of ends then miss.

    With sampled words, where no triplet has two seeds, or with one triplet alone, the interval is
    that of ``mean_interval``.

    Args:
        groups: gap at each seed of each triplet; empty ones are left out.
        level: confidence level in (0, 1).
        words: "fixed" for these triplets, "sample" for triplets like them.

    Returns:
        Interval; n is the number of triplets (of seeds if one triplet).

    Raises:
        ValueError: fewer than two values, a value is not finite, or an option is out of range.

    >>> print(gap_interval([[0.1, 0.2], [0.9, 1.0]], level=0.95))
    0.550 [0.398, 0.702]
    """
    return _mean_gap(groups, words)(level)


def _mean_gap(groups: Sequence[npt.ArrayLike], words: Words) -> Callable[[float], Interval]:
    """The interval of the mean gap at any level."""
    check_words(words)
    sizes = [np.size(group) for group in groups if np.size(group)]
    if words == "fixed" and len(sizes) > 1 and max(sizes) > 1:
        return _fixed(groups).wider
    return mean_error(groups).interval


def gap_p_value(
    groups: Sequence[npt.ArrayLike],
    bound: float,
    *,
    alternative: Alternative = "greater",
    words: Words = "fixed",
) -> float:
    """One-sided p-value of the absolute mean gap against a bound, by inverted intervals.

    Args:
        groups: as in ``gap_interval``.
        bound: limit of the absolute mean gap, at least 0.
        alternative: "greater" against "the absolute gap is at most the bound" (two-sided: either
            gender may be nearer, so both tails count), "less" against "it is at least the bound".
        words: "fixed" for these triplets, "sample" for triplets like them.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as ``gap_interval``, or the bound is negative.

    >>> gap_p_value([[0.1, 0.2], [0.9, 1.0]], 0.1) < 0.05
    True
    >>> gap_p_value([[0.1, 0.2], [0.9, 1.0]], 0.1, alternative="less")
    1.0
    """
    limit = float(inputs.in_range("bound", bound, 0.0, math.inf))
    interval = _mean_gap(groups, words)
    if alternative != "greater":
        return inverted_p_value(lambda level: abs(interval(level)), limit, alternative=alternative)
    # Beyond the bound on the side that was seen, or as far on the other by chance.
    side = interval(0.5).estimate
    bounds = (limit, -limit)
    return min(1.0, sum(inverted_p_value(lambda x: _turned(interval(x), side), b) for b in bounds))


def gap_sign_p_value(
    groups: Sequence[npt.ArrayLike], *, sign: int, words: Words = "fixed"
) -> float:
    """One-sided p-value of the sign of a mean gap, by inverted intervals.

    Args:
        groups: as in ``gap_interval``.
        sign: 1 against "the mean gap is at most 0", -1 against "it is at least 0".
        words: "fixed" for these triplets, "sample" for triplets like them.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as ``gap_interval``, or sign is neither 1 nor -1.

    >>> gap_sign_p_value([[0.1, 0.2], [0.9, 1.0]], sign=1) < 0.05
    True
    """
    if sign not in (1, -1):
        raise ValueError(f"sign must be 1 or -1, got sign={sign!r}")
    interval = _mean_gap(groups, words)
    return inverted_p_value(lambda level: _turned(interval(level), float(sign)), 0.0)


def _turned(interval: Interval, side: float) -> Interval:
    """The interval, or its mirror image at 0."""
    if side > 0.0:
        return interval
    return replace(interval, estimate=-interval.estimate, low=-interval.high, high=-interval.low)


def _errors(values: list[inputs.Floats], sizes: inputs.Floats) -> tuple[float, float]:
    """Sum of the squared standard errors of the means, and its degrees of freedom."""
    squares = np.array([float(np.sum((group - np.mean(group)) ** 2)) for group in values])
    pooled = float(np.sum(squares) / np.sum(sizes - 1.0))
    several = sizes > 1
    own = np.where(several, squares / np.maximum(sizes - 1.0, 1.0), pooled) / sizes
    total = float(np.sum(own))
    if not total:
        return 0.0, 1.0
    # Shares of the sum: squares of small variances would be 0. Alone-standing values lean on the
    # pooled variance, whose freedom is that of all the others.
    part = own / total
    spared = float(np.sum(part[several] ** 2 / (sizes[several] - 1.0)))
    borrowed = float(np.sum(part[~several])) ** 2 / float(np.sum(sizes - 1.0))
    return total, 1.0 / (spared + borrowed)


def _skewness(values: list[inputs.Floats], sizes: inputs.Floats, errors: float) -> float:
    """Skewness of the mean of means; 0 where no group is large enough to show any."""
    several = sizes >= FEWEST_SKEWED
    if not errors or not np.any(several):
        return 0.0
    cubes = np.array([float(np.sum((group - np.mean(group)) ** 3)) for group in values])
    less = np.where(several, sizes, FEWEST_SKEWED)
    own = less * cubes / ((less - 1.0) * (less - 2.0))
    pooled = float(np.sum((sizes * own)[several]) / np.sum(sizes[several]))
    return float(np.sum(np.where(several, own, pooled) / sizes**2) / errors**1.5)
