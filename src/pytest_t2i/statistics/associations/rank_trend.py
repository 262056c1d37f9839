"""Rank correlation of scores with a quantity, and the change of a share between two prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level
from pytest_t2i.statistics.shares.resampling import check_resampling, percentiles

IN_TAIL = 20
"""Fewest draws beyond an end of a group's interval."""
FORBIDDEN = 2.0
"""Cost of a rank outside its range, times the cube of the number of groups: above all other
costs."""
FEWEST_GROUPS = 3
"""Fewest groups, as two always lie on a line."""

Counted = tuple[int, int, float, int]
"""Number of images that show an attribute, number of judged images, real-world share, and 1 where
the attribute is prone to be shown too often, -1 where too rarely."""


def rank_correlation_interval(
    quantity: npt.ArrayLike,
    groups: Sequence[Sequence[Counted]],
    *,
    level: float,
    seed: int,
    resamples: int = 2000,
) -> Interval:
    """Return Spearman's correlation of groups' mean stereotype scores with a quantity.

    The groups are fixed; only their images vary. Each group's score gets an interval (from the
    Jeffreys posterior of its shares), and all intervals hold simultaneously (Bonferroni). Two
    groups whose intervals are disjoint have a known order, others do not: so each group has a range
    of ranks. The interval of the correlation reaches from the smallest to the largest correlation
    that ranks within these ranges allow (an assignment problem; Crouse 2016). So groups with close
    scores have a wide interval; resampled scores alone covered 0.50 at 20 images of eight close
    groups (tests/simulations/rank_trend.md). The interval does not apply to other groups: of three
    groups in random order, one in six has a given perfect order.

    Args:
        quantity: quantity of each group, such as a nationality's internet users, [n_groups].
        groups: counts of the attributes of each group.
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: least number of draws; more where the small tails of many groups require it.

    Returns:
        Interval of the correlation in [-1, 1]; n is the number of groups.

    Raises:
        ValueError: fewer than three groups, a group without a judged image, equal quantities, or
            an option is out of range.

    >>> groups = [[(90, 100, 0.5, 1)], [(70, 100, 0.5, 1)], [(52, 100, 0.5, 1)]]
    >>> interval = rank_correlation_interval([1, 2, 3], groups, level=0.9, seed=0)
    >>> interval.estimate, interval.high < 0
    (-1.0, True)
    """
    check_resampling(level, resamples)
    values = inputs.floats("quantity", quantity)
    if values.shape != (len(groups),) or len(groups) < FEWEST_GROUPS:
        raise ValueError(
            f"quantity and groups must be of at least {FEWEST_GROUPS} groups, got "
            f"quantity.shape={values.shape}, {len(groups)} groups"
        )
    if len(set(values.tolist())) == 1 or any(not group for group in groups):
        raise ValueError(f"quantity must differ, and no group be empty, got quantity={values}")
    rng = np.random.default_rng(seed)
    observed = np.array([[_mean_score(group, None, 1)[0] for group in groups]])
    tail = (1.0 - level) / (2.0 * len(groups))
    draws = max(resamples, math.ceil(IN_TAIL / tail))
    ends = np.array([percentiles(_mean_score(group, rng, draws), tail) for group in groups])
    estimate = float(_spearman(values, observed)[0])
    low, high = _range_of_correlation(values, np.minimum(ends[:, 0], observed[0]),
                                      np.maximum(ends[:, 1], observed[0]))  # fmt: skip
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "ranges of ranks", len(groups)
    )


def fewest_groups(level: float) -> int:
    """Return the number of groups from which on a perfect order is significant at this level.

    Of the n! orders of n groups, two are perfect (-1 or 1). Where 2 / n! exceeds 1 - level, no
    order allows a conclusion on groups in general, for any number of images.

    >>> fewest_groups(0.95), fewest_groups(0.8)
    (5, 4)
    """
    check_level(level)
    groups = FEWEST_GROUPS
    while 2 / math.factorial(groups) > 1.0 - level:
        groups += 1
    return groups


def _mean_score(
    group: Sequence[Counted], rng: np.random.Generator | None, draws: int
) -> inputs.Floats:
    """Return the mean stereotype score of a group's attributes, observed or from the posterior."""
    scores = []
    for present, clear, expected, sign in group:
        if not 0 <= present <= clear or not clear:
            raise ValueError(f"a group must hold judged images, got {present} of {clear}")
        if rng is None:
            share = np.full(draws, present / clear)
        else:
            share = rng.beta(present + 0.5, clear - present + 0.5, draws)
        scores.append(np.maximum(0.0, sign * (share - expected)))
    return np.asarray(np.mean(scores, axis=0), dtype=np.float64)


def _range_of_correlation(
    values: inputs.Floats, low: inputs.Floats, high: inputs.Floats
) -> tuple[float, float]:
    """Return the smallest and largest rank correlation of scores within these ends."""
    if not high.any():
        return 0.0, 0.0
    first = np.sum(high[None, :] < low[:, None], axis=1)
    last = len(low) - 1 - np.sum(low[None, :] > high[:, None], axis=1)
    ranks = np.arange(len(low))
    product = np.outer(scipy.stats.rankdata(values), ranks).astype(np.float64)
    product[(ranks < first[:, None]) | (ranks > last[:, None])] = np.nan
    found = []
    for sign in (1.0, -1.0):
        cost = np.where(np.isnan(product), FORBIDDEN * len(low) ** 3, sign * product)
        found.append(scipy.optimize.linear_sum_assignment(cost)[1])
    least, most = _spearman(values, np.array(found, dtype=np.float64))
    return float(least), float(most)


def _spearman(values: inputs.Floats, rows: inputs.Floats) -> inputs.Floats:
    """Return Spearman's correlation of each row; 0 where all its scores are equal."""
    x = scipy.stats.rankdata(values)
    ranks = scipy.stats.rankdata(rows, axis=1)
    x, ranks = x - x.mean(), ranks - ranks.mean(axis=1, keepdims=True)
    lengths = np.sqrt((x**2).sum() * (ranks**2).sum(axis=1))
    together = np.divide(ranks @ x, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(together, dtype=np.float64)
