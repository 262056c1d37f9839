"""Association of two embedding spaces, and of ranks with a quantity."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.distance_correlation import (
    FEWEST_CORRECTED,
    both_distances,
    centred,
    corrected_correlation,
    correlation,
    u_centred,
)
from pytest_t2i.statistics.inversion import check_resampling, percentiles
from pytest_t2i.statistics.shares import check_level, containing


def distance_correlation_p_value(
    a: npt.ArrayLike, b: npt.ArrayLike, *, seed: int, permutations: int = 999
) -> float:
    """Return the permutation p-value against "the two spaces are independent".

    .. math:: (1 + #{A . B_s >= A . B}) / (1 + permutations)

    over random orders s of the images in the second space, with A and B the U-centred distances,
    whose product is the numerator of ``corrected_distance_correlation``. The images must be
    exchangeable: with dependent images, such as several of one person or prompt, the test is
    invalid. Then pass one image of each, or use the interval.

    Args:
        a: one embedding per image, [n, d] or [n].
        b: another embedding of the same images, [n, e] or [n].
        seed: seed of the permutations.
        permutations: number of random permutations, at least 99.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as in ``corrected_distance_correlation``, or too few permutations.

    >>> line = list(range(20))
    >>> distance_correlation_p_value(line, line, seed=0)
    0.001
    """
    if permutations < 99:  # noqa: PLR2004 - fewer cannot reach 0.01
        raise ValueError(f"permutations must be at least 99, got permutations={permutations!r}")
    first, second = (u_centred(d) for d in both_distances(a, b, FEWEST_CORRECTED))
    found = scipy.stats.permutation_test(
        (np.arange(len(second)),), lambda order: np.sum(first * second[np.ix_(order, order)]),
        permutation_type="pairings", alternative="greater", n_resamples=permutations,
        vectorized=False, rng=np.random.default_rng(seed),
    )  # fmt: skip
    return float(found.pvalue)


def distance_correlation_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    level: float,
    clusters: Sequence[Hashable] | None = None,
    corrected: bool = False,
) -> Interval:
    """Return the distance correlation with an interval by the delete-one-cluster jackknife.

    .. math:: theta -+ t_(m-1) sqrt((m - 1) / m sum_k (theta_k - mean theta)^2)

    with theta_k the value without cluster k. A bootstrap fails: an image that is drawn twice has a
    distance of 0 from itself. The interval is approximate. It does not correct the upward bias of
    the plain value; ``corrected`` does.

    Args:
        a: one embedding per image, [n, d] or [n].
        b: another embedding of the same images, [n, e] or [n].
        level: confidence level in (0, 1).
        clusters: cluster of each image, such as its prompt; None where images are independent.
        corrected: whether the value is ``metrics.corrected_distance_correlation``, the squared
            correlation without bias, or ``metrics.distance_correlation``.

    Returns:
        Interval in [0, 1], or in [-1, 1] for the corrected value; n is the number of clusters.

    Raises:
        ValueError: as in the metric, the level lies outside (0, 1), the number of cluster names is
            not the number of images, there are fewer than 3 clusters, or too few images remain
            without one of them.

    >>> line = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    >>> print(distance_correlation_interval(line, line, level=0.95))
    1.000 [1.000, 1.000]
    """
    check_level(level)
    fewest = FEWEST_CORRECTED if corrected else 2
    first, second = both_distances(a, b, fewest)
    low = -1.0 if corrected else 0.0

    def measure(places: npt.NDArray[np.int64]) -> float:
        parts = first[np.ix_(places, places)], second[np.ix_(places, places)]
        if corrected:
            return corrected_correlation(*map(u_centred, parts))
        return correlation(*map(centred, parts))

    groups, every = _members(clusters, len(first)), np.arange(len(first))
    if min(len(first) - group.size for group in groups) < fewest:
        raise ValueError(
            f"clusters must leave at least {fewest} images when one of them is left out"
        )
    estimate = measure(every)
    without = np.array([measure(np.delete(every, group)) for group in groups])
    m = len(groups)
    error = math.sqrt((m - 1) / m * float(np.sum((without - without.mean()) ** 2)))
    reach = float(scipy.stats.t.ppf((1.0 + level) / 2.0, m - 1)) * error
    ends = max(low, estimate - reach), min(1.0, estimate + reach)
    return Interval(estimate, *ends, level, "jackknife", m)


def _members(clusters: Sequence[Hashable] | None, count: int) -> list[npt.NDArray[np.int64]]:
    """Return the indices of the images of each cluster."""
    names = list(range(count)) if clusters is None else list(clusters)
    if len(names) != count:
        raise ValueError(f"clusters must name one for each of {count} images, got {len(names)}")
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    if len(places) < 3:  # noqa: PLR2004 - two values are too few for a variance
        raise ValueError(f"clusters must name at least 3 clusters, got {len(places)}")
    return [np.array(indices) for indices in places.values()]


IN_TAIL = 20
"""Fewest draws beyond an end of a group's interval."""
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

    Groups are fixed. Simultaneous intervals of their scores (Jeffreys, Bonferroni) leave each group
    a range of ranks, and the ends are the extreme correlations of such ranks (an assignment
    problem, Crouse 2016; tests/simulations/rank_trend.md).
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
    observed = np.concatenate([_mean_score(group, None, 1) for group in groups])
    tail = (1.0 - level) / (2.0 * len(groups))
    draws = max(resamples, math.ceil(IN_TAIL / tail))
    ends = np.array([percentiles(_mean_score(group, rng, draws), tail) for group in groups])
    low, high = np.minimum(ends[:, 0], observed), np.maximum(ends[:, 1], observed)
    reached = _range_of_correlation(values, low, high)
    estimate = _spearman(values, observed)
    return containing(estimate, reached, level, "ranges of ranks", len(groups))


def fewest_groups(level: float) -> int:
    """Return the number of groups from which on a perfect order (2 of n!) is significant."""
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
    outside = (ranks < first[:, None]) | (ranks > last[:, None])
    product = np.outer(scipy.stats.rankdata(values), ranks)
    least, most = (
        scipy.optimize.linear_sum_assignment(np.where(outside, np.inf, sign * product))[1]
        for sign in (1.0, -1.0)
    )
    return _spearman(values, least), _spearman(values, most)


def _spearman(values: inputs.Floats, scores: npt.NDArray[np.float64 | np.intp]) -> float:
    """Return Spearman's correlation; 0 where all scores are equal."""
    return float(scipy.stats.spearmanr(values, scores).statistic) if np.ptp(scores) else 0.0
