"""Distance correlation of two spaces: a test of independence, and how far it may be off."""

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
"""From the distances in one space and in the other."""


def distance_correlation_p_value(
    a: npt.ArrayLike, b: npt.ArrayLike, *, seed: int, permutations: int = 999
) -> float:
    """Permutation p-value against "the two spaces are independent".

    .. math:: (1 + #{A . B_s >= A . B}) / (1 + permutations)

    over random orders s of the images in the second space, with A and B the U-centred distances of
    ``corrected_distance_correlation``, whose numerator they make. Images of one person or prompt
    that are alike in both spaces are no evidence of independence or against it: give one of each,
    or read the interval.

    Args:
        a: one embedding per image, [n, d] or [n].
        b: another embedding of the same images, [n, e] or [n].
        seed: of the orders.
        permutations: how many orders are drawn, at least 99.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as ``corrected_distance_correlation``, or too few permutations.

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
    """Distance correlation with an interval by the jackknife.

    .. math:: theta -+ t_(m-1) sqrt((m - 1) / m sum_k (theta_k - mean theta)^2)

    with theta_k the value without cluster k. A bootstrap will not do: an image that is drawn twice
    has a distance of 0 from itself. The interval says how far other images would move the value. It
    does not take off the upward bias of the plain one: see the corrected one for that.

    Args:
        a: one embedding per image, [n, d] or [n].
        b: another embedding of the same images, [n, e] or [n].
        level: confidence level in (0, 1).
        clusters: what each image belongs to, such as its prompt; None where each stands alone.
        corrected: whether the value is ``metrics.corrected_distance_correlation``, the square
            without bias, or ``metrics.distance_correlation``.

    Returns:
        Interval in [0, 1], of the corrected one in [-1, 1]; n is the number of clusters.

    Raises:
        ValueError: as the metric, for a level outside (0, 1), as many clusters as there are no
            images, fewer than 3 of them, or too few images outside of one.

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
    """The value without a cluster."""
    keep = np.delete(np.arange(len(first)), group)
    return measure(first[np.ix_(keep, keep)], second[np.ix_(keep, keep)])


def _members(clusters: Sequence[Hashable] | None, count: int) -> list[npt.NDArray[np.int64]]:
    """The images of each cluster."""
    names = list(range(count)) if clusters is None else list(clusters)
    if len(names) != count:
        raise ValueError(f"clusters must name one for each of {count} images, got {len(names)}")
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    if len(places) < 3:  # noqa: PLR2004 - two values show no spread to speak of
        raise ValueError(f"clusters must be at least 3, got {len(places)}")
    return [np.array(found) for found in places.values()]
