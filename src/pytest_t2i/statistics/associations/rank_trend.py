"""Whether scores fall with a quantity, by ranks; and how a share changes between two prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.differences import interval_difference
from pytest_t2i.statistics.shares.intervals import check_level, wilson
from pytest_t2i.statistics.shares.resampling import check_resampling, percentiles

IN_TAIL = 20
"""Draws beyond an end of a group's interval, at least."""
FORBIDDEN = 2.0
"""Cost of a rank outside its range, for the cube of the number of groups: more than all others."""
FEWEST_GROUPS = 3
"""Two groups always lie on a line."""

Counted = tuple[int, int, float, int]
"""Images that show an attribute, images that were judged, real-world share, and 1 where it is prone
to be shown too often, -1 where too rarely."""


def rank_correlation_interval(
    quantity: npt.ArrayLike,
    groups: Sequence[Sequence[Counted]],
    *,
    level: float,
    seed: int,
    resamples: int = 2000,
) -> Interval:
    """Spearman's correlation of groups' mean stereotype scores with a quantity of each group.

    The groups are these; their images vary. Each group's score gets an interval (of shares drawn
    from their Jeffreys posterior) that holds for all groups at once (Bonferroni). Of two groups
    whose intervals do not meet the order is known, of others it is not: so each group has a range
    of ranks, and the interval of the correlation reaches from the least to the most that ranks
    within these ranges allow (an assignment problem; Crouse 2016). Groups whose scores lie close
    so leave it wide, as drawing scores anew would not: that covered 0.50 at 20 images of eight
    close groups (tests/simulations/rank_trend.md). It says nothing of other groups: with three of
    them even a perfect order has one chance in six.

    Args:
        quantity: of each group, such as a nationality's internet users.
        groups: of each group its attributes as counts.
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of draws; more are made where the tails of many groups ask for it.

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
    """Groups from which on a perfect order is told from chance at this level.

    Of n groups in any order 2 in n! are perfect (-1 or 1). Where that is more than 1 - level, no
    order of theirs says anything of groups in general, and images cannot make up for it.

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
    """Mean stereotype score of a group's attributes, as observed or as drawn."""
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
    """Least and most correlation of ranks that scores within these ends may have."""
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
    """Spearman's correlation of each row; 0 where all of its scores are equal."""
    x = scipy.stats.rankdata(values)
    ranks = scipy.stats.rankdata(rows, axis=1)
    x, ranks = x - x.mean(), ranks - ranks.mean(axis=1, keepdims=True)
    lengths = np.sqrt((x**2).sum() * (ranks**2).sum(axis=1))
    together = np.divide(ranks @ x, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(together, dtype=np.float64)


def share_difference_interval(
    before: tuple[int, int], after: tuple[int, int], level: float
) -> Interval:
    """How a share differs between two sets of images (Newcombe 1998, method 10).

    Args:
        before: images that show it, images that were judged.
        after: the same of the second set.
        level: confidence level in (0, 1).

    Returns:
        Interval of the second share minus the first, in [-1, 1]; n is the smaller set's size.

    Raises:
        ValueError: a set without a judged image, or a level outside (0, 1).

    >>> print(share_difference_interval((56, 70), (48, 80), 0.95))
    -0.200 [-0.334, -0.052]
    """
    check_level(level)
    first, second = wilson(*before, level=level), wilson(*after, level=level)
    return replace(interval_difference(first, second), method="newcombe")
