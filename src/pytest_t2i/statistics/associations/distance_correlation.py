"""Distance correlation of two spaces: a permutation test of independence, and an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

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
from pytest_t2i.statistics.shares.intervals import check_level

Measure = Callable[[inputs.Floats, inputs.Floats], float]
"""A function of the distances in one space and in the other."""


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
    rng = np.random.default_rng(seed)
    seen = float(np.sum(first * second))
    # The same sum in another order of its summands may differ in the last digits.
    least = seen - 1e-12 * abs(seen)
    orders = (rng.permutation(len(second)) for _ in range(permutations))
    reached = sum(float(np.sum(first * second[np.ix_(o, o)])) >= least for o in orders)
    return (1 + reached) / (1 + permutations)


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
    measure, low = (_corrected, -1.0) if corrected else (_plain, 0.0)
    groups = _members(clusters, len(first))
    if min(len(first) - group.size for group in groups) < fewest:
        raise ValueError(
            f"clusters must leave at least {fewest} images when one of them is left out"
        )
    estimate = measure(first, second)
    without = np.array([_left(measure, first, second, group) for group in groups])
    m = len(groups)
    error = math.sqrt((m - 1) / m * float(np.sum((without - without.mean()) ** 2)))
    reach = float(scipy.stats.t.ppf((1.0 + level) / 2.0, m - 1)) * error
    ends = max(low, estimate - reach), min(1.0, estimate + reach)
    return Interval(estimate, *ends, level, "jackknife", m)


def _plain(first: inputs.Floats, second: inputs.Floats) -> float:
    return correlation(centred(first), centred(second))


def _corrected(first: inputs.Floats, second: inputs.Floats) -> float:
    return corrected_correlation(u_centred(first), u_centred(second))


def _left(
    measure: Measure, first: inputs.Floats, second: inputs.Floats, group: npt.NDArray[np.int64]
) -> float:
    """Return the value without one cluster."""
    keep = np.delete(np.arange(len(first)), group)
    return measure(first[np.ix_(keep, keep)], second[np.ix_(keep, keep)])


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
    return [np.array(found) for found in places.values()]
