"""Distance of one prompt's images from a reference distribution: interval, test, worst case."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product

import numpy as np
import scipy

from pytest_t2i.data import Bounds, Interval
from pytest_t2i.metrics import inputs, total_variation_distance
from pytest_t2i.metrics.total_variation import check_reference
from pytest_t2i.statistics.shares.intervals import check_level

SMALL = 1e-12
"""Equal distances may differ in the last place."""
MOST_SETS = 12
"""Largest number of labels of which all sets are tried: 4,096 sets."""
HALVINGS = 50
"""Number of bisection steps for a p-value."""


def total_variation_interval(
    counts: Mapping[str, int], reference: Mapping[str, float], level: float
) -> Interval:
    """Return the exact interval of a prompt's total variation distance from a reference.

    The share of each label has its Clopper-Pearson interval, at a level at which all hold
    simultaneously (Bonferroni; two labels have one share and need no correction). The interval
    reaches from the smallest to the largest distance of the distributions whose shares lie in them:
    it covers with at least the level.

    Args:
        counts: number of images of each label; labels without images have a 0.
        reference: share of each label, taken as known.
        level: confidence level in (0, 1).

    Returns:
        Interval in [0, 1].

    Raises:
        ValueError: there is no image, a count is no whole number, the reference is no
            distribution over the labels, or the level lies outside (0, 1).

    >>> print(total_variation_interval({"male": 20, "female": 0}, {"male": 0.5, "female": 0.5},
    ...                                0.95))
    0.500 [0.332, 0.500]
    """
    check_level(level)
    expected = _expected(counts, reference)
    numbers = _numbers(counts)
    low, high = _box(numbers, expected, 1.0 - level)
    estimate = total_variation_distance(counts, reference)
    method = "clopper-pearson" if len(numbers) <= 2 else "clopper-pearson, bonferroni"  # noqa: PLR2004 - one share
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, method, int(numbers.sum())
    )


def total_variation_p_value(
    counts: Mapping[str, int], reference: Mapping[str, float], bound: float
) -> float:
    """Return the exact p-value against "the distance from the reference is at most the bound".

    With two labels the p-value is the largest probability under H0 of a share at least as far from
    the reference; that probability is quasi-convex in p, so the maximum is at p = r - bound or p =
    r + bound. With an even reference and half the bound this is ``bias_p_value``. With more labels
    the p-value is the smallest error at which the low end of ``total_variation_interval`` exceeds
    the bound.

    Args:
        counts: number of images of each label; labels without images have a 0.
        reference: share of each label, taken as known.
        bound: limit of the distance, in [0, 1].

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: as in ``total_variation_interval``, or the bound lies outside [0, 1].

    >>> even = {"male": 0.5, "female": 0.5}
    >>> round(total_variation_p_value({"male": 20, "female": 0}, even, 0.0), 7)
    1.9e-06
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    expected, numbers = _expected(counts, reference), _numbers(counts)
    if len(numbers) == 2:  # noqa: PLR2004 - one share
        return _two_label_p_value(int(numbers[0]), int(numbers.sum()), float(expected[0]), limit)
    return _inverted(tuple(numbers.tolist()), tuple(expected.tolist()), limit)


def total_variation_bounds(
    counts: Mapping[str, int], undetected: int, reference: Mapping[str, float]
) -> Bounds:
    """Return bounds on a prompt's distance over all labels of its undetected images.

    Each undetected image may show any label or none (see ``worst_case_bounds``): the share of a
    label lies between n_l / n and (n_l + u) / n, with n images in all.

    Args:
        counts: number of images of each label; labels without images have a 0.
        undetected: number of images without a label.
        reference: share of each label.

    Returns:
        Bounds in [0, 1], with the share of undetected images.

    Raises:
        ValueError: there is no image at all, a count is no whole number, or the reference is no
            distribution over the labels.

    >>> total_variation_bounds({"male": 12, "female": 4}, 4, {"male": 0.5, "female": 0.5})
    Bounds(low=0.1, high=0.3, undetected=0.2)
    """
    numbers, expected = _numbers(counts), _expected(counts, reference)
    unknown = int(inputs.whole_counts("undetected", undetected))
    images = int(numbers.sum()) + unknown
    if not images:
        raise ValueError("counts and undetected hold no image at all")
    low, high = distance_range(numbers / images, (numbers + unknown) / images, expected)
    return Bounds(round(low, 12), round(high, 12), unknown / images)


def distance_range(
    low: inputs.Floats, high: inputs.Floats, expected: inputs.Floats
) -> tuple[float, float]:
    """Return the smallest and largest total variation distance of the distributions within a box.

    .. math:: [max(sum (low - r)+, sum (r - high)+),
       max over sets A of min(high(A), 1 - low(not A)) - r(A)]

    For more than 12 labels there are too many sets: the largest distance is then that of sets that
    may hold one label in part, which is no smaller.

    Args:
        low: smallest share of each label, [n_labels].
        high: largest share of each label, [n_labels].
        expected: shares r of the reference, [n_labels].

    Returns:
        The two distances, in [0, 1].

    >>> distance_range(np.array([0.5, 0.25]), np.array([0.75, 0.5]), np.array([0.5, 0.5]))
    (0.0, 0.25)
    """
    least = max(np.sum(np.maximum(0.0, low - expected)), np.sum(np.maximum(0.0, expected - high)))
    if len(low) > MOST_SETS:
        return float(least), _largest_in_part(high - expected, expected - low)
    sets = np.array(list(product((0.0, 1.0), repeat=len(low)))).T
    reach = np.minimum(high @ sets, 1.0 - low @ (1.0 - sets))
    return float(least), float(max(0.0, np.max(reach - expected @ sets)))


def _largest_in_part(up: inputs.Floats, down: inputs.Floats) -> float:
    """Return the largest min(sum of x up, sum of (1 - x) down) with x in [0, 1] for each label.

    Labels enter the set in order of up against down, the last one in part.
    """
    order = np.argsort(np.arctan2(-up, down), kind="stable")
    rises = np.concatenate([[0.0], np.cumsum(up[order])])
    falls = np.concatenate([[down.sum()], down.sum() - np.cumsum(down[order])])
    best = float(np.max(np.minimum(rises, falls)))
    for k in range(len(up)):
        step = (rises[k + 1] - rises[k]) + (falls[k] - falls[k + 1])
        if rises[k] <= falls[k] and rises[k + 1] >= falls[k + 1] and step > 0.0:
            part = (falls[k] - rises[k]) / step
            best = max(best, float(rises[k] + part * (rises[k + 1] - rises[k])))
    return max(0.0, best)


def _box(numbers: inputs.Floats, expected: inputs.Floats, error: float) -> tuple[float, float]:
    n, labels = numbers.sum(), len(numbers)
    tail = error / 2.0 / (labels if labels > 2 else 1)  # noqa: PLR2004 - two labels have one share
    low = np.where(
        numbers == 0, 0.0, scipy.stats.beta.ppf(tail, np.maximum(numbers, 1), n - numbers + 1)
    )
    high = np.where(
        numbers == n, 1.0, scipy.stats.beta.isf(tail, numbers + 1, np.maximum(n - numbers, 1))
    )
    return distance_range(low, high, expected)


@lru_cache(maxsize=4096)
def _two_label_p_value(k: int, n: int, expected: float, bound: float) -> float:
    shown = np.arange(n + 1)
    as_far = np.abs(shown / n - expected) >= abs(k / n - expected) - SMALL
    edges = np.clip([expected - bound, expected + bound], 0.0, 1.0)
    return min(1.0, float(max(np.sum(scipy.stats.binom.pmf(shown[as_far], n, p)) for p in edges)))


@lru_cache(maxsize=4096)
def _inverted(numbers: tuple[float, ...], expected: tuple[float, ...], bound: float) -> float:
    counted, shares = np.array(numbers), np.array(expected)
    low, high = 0.0, 1.0
    if _box(counted, shares, high)[0] <= bound:
        return 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _box(counted, shares, middle)[0] > bound else (middle, high)
    return high


def _numbers(counts: Mapping[str, int]) -> inputs.Floats:
    whole = [inputs.whole_counts(f"counts[{label!r}]", count) for label, count in counts.items()]
    return np.array(whole, dtype=np.float64)


def _expected(counts: Mapping[str, int], reference: Mapping[str, float]) -> inputs.Floats:
    return np.array(list(check_reference(counts, reference).values()))
