"""Total variation distance from a reference: of one prompt, exactly, and of a model.

The plug-in |k/n - r| is biased upwards: a model that follows its reference exactly shows more than
0. docs/decisions/0001 treats the even reference; the means over prompts here treat any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Bounds, Interval
from pytest_t2i.metrics import inputs, total_variation_distance
from pytest_t2i.metrics.groups import SUM_TOLERANCE, check_reference
from pytest_t2i.statistics.bounding import EVEN, Side, bounding_distance
from pytest_t2i.statistics.model import Whole, model_bias_interval
from pytest_t2i.statistics.shares import bisected, check_level, containing, exact_ends
from pytest_t2i.statistics.worst_case import budget_not_rejected, is_skewed, prompt_part

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

    The low end is the least distance over simultaneous Clopper-Pearson intervals of the labels'
    shares (Bonferroni; two labels have one share). The high end inverts ``total_variation_within``.
    """
    check_level(level)
    expected = _expected(counts, reference)
    numbers = _numbers(counts)
    low, high = _box(numbers, expected, 1.0 - level)
    if len(numbers) <= MOST_SETS:
        shown, share = _of_sets(numbers, expected)
        upper = exact_ends(shown, numbers.sum(), (1.0 - level) / 2.0)[1]
        high = float(np.max(upper - share))
    ends = low, min(high, 1.0)
    estimate = total_variation_distance(counts, reference)
    method = "clopper-pearson" + ", bonferroni" * (len(numbers) > 2)  # noqa: PLR2004 - one share
    return containing(estimate, ends, level, method, int(numbers.sum()))


def total_variation_p_value(
    counts: Mapping[str, int], reference: Mapping[str, float], bound: float
) -> float:
    """Return the exact p-value against "the distance from the reference is at most the bound".

    With two labels the largest probability under H0 of a share as far from the reference (at p = r
    - bound or r + bound, as it is quasi-convex); with more, of the inverted interval.
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    expected, numbers = _expected(counts, reference), _numbers(counts)
    if len(numbers) == 2:  # noqa: PLR2004 - one share
        return _two_label_p_value(int(numbers[0]), int(numbers.sum()), float(expected[0]), limit)
    return _inverted(tuple(numbers.tolist()), tuple(expected.tolist()), limit)


def total_variation_within(
    counts: Mapping[str, int], reference: Mapping[str, float], bound: float
) -> float:
    """Return the exact p-value against "the distance from the reference is at least the bound".

    The distance is the largest excess of a set of labels over its expected share. So it is within
    the bound exactly where every set is: an intersection-union test, each set by a binomial test at
    the full level (Berger 1982).
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    expected, numbers = _expected(counts, reference), _numbers(counts)
    if len(numbers) > MOST_SETS:
        return bisected(
            lambda error: _box(numbers, expected, error)[1] < limit, 0.0, 1.0, HALVINGS
        )[1]
    shown, share = _of_sets(numbers, expected)
    can = share + limit <= 1.0
    tails = scipy.stats.binom.cdf(shown, numbers.sum(), np.minimum(share + limit, 1.0))
    return float(np.max(tails, initial=0.0, where=can))


def _of_sets(
    numbers: inputs.Floats, expected: inputs.Floats
) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the images, and the expected share, of each set of labels but none and all."""
    sets = np.array(list(product((0.0, 1.0), repeat=len(numbers)))[1:-1]).T
    return numbers @ sets, np.minimum(expected @ sets, 1.0)


def total_variation_bounds(
    counts: Mapping[str, int], undetected: int, reference: Mapping[str, float]
) -> Bounds:
    """Return bounds on a prompt's distance over all labels of its undetected images."""
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

    For more than 12 labels one label may belong to the set in part, which is no smaller.
    """
    least = max(np.sum(np.maximum(0.0, low - expected)), np.sum(np.maximum(0.0, expected - high)))
    if len(low) > MOST_SETS:
        return float(least), _largest_in_part(high - expected, expected - low)
    sets = np.array(list(product((0.0, 1.0), repeat=len(low)))).T
    reach = np.minimum(high @ sets, 1.0 - low @ (1.0 - sets))
    return float(least), float(max(0.0, np.max(reach - expected @ sets)))


def _largest_in_part(up: inputs.Floats, down: inputs.Floats) -> float:
    """Return the largest min(sum of x up, sum of (1 - x) down) with x in [0, 1] for each label."""
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
    labels = len(numbers)
    tail = error / 2.0 / (labels if labels > 2 else 1)  # noqa: PLR2004 - two labels have one share
    return distance_range(*exact_ends(numbers, numbers.sum(), tail), expected)


@lru_cache(maxsize=4096)
def _two_label_p_value(k: int, n: int, expected: float, bound: float) -> float:
    outcomes = np.arange(n + 1)
    as_far = np.abs(outcomes / n - expected) >= abs(k / n - expected) - SMALL
    edges = np.clip([expected - bound, expected + bound], 0.0, 1.0)
    return min(
        1.0, float(max(np.sum(scipy.stats.binom.pmf(outcomes[as_far], n, p)) for p in edges))
    )


@lru_cache(maxsize=4096)
def _inverted(numbers: tuple[float, ...], expected: tuple[float, ...], bound: float) -> float:
    counted, shares = np.array(numbers), np.array(expected)
    # The error at which the low end exceeds the bound; 1 where none does.
    return bisected(lambda error: _box(counted, shares, error)[0] > bound, 0.0, 1.0, HALVINGS)[1]


def _numbers(counts: Mapping[str, int]) -> inputs.Floats:
    numbers = [inputs.whole_counts(f"counts[{label!r}]", count) for label, count in counts.items()]
    return np.array(numbers, dtype=np.float64)


def _expected(counts: Mapping[str, int], reference: Mapping[str, float]) -> inputs.Floats:
    return np.array(list(check_reference(counts, reference).values()))


PSEUDO = 3.0
"""Number of images, of those of the prompts with the fewest, that might differ by chance where all
counts agree: the standard error then stays positive where a label is never or always shown."""


class Parts(NamedTuple):
    """The counts as shares of one label against the rest: one label of two, or each of more."""

    shown: Whole
    """Number of images with the label, [n_prompts, n_parts]."""
    n: Whole
    """Number of images with any label, [n_prompts]."""
    expected: inputs.Floats
    """Share of the label in the reference, [n_prompts, n_parts]."""
    weight: float
    """Weight of each part in the distance: 1 or 1/2."""

    @property
    def distances(self) -> inputs.Floats:
        """Plug-in |k/n - r| of each part, [n_prompts, n_parts]."""
        return np.asarray(np.abs(self.shown / self.n[:, None] - self.expected), dtype=np.float64)

    @property
    def furthest(self) -> float:
        """The largest mean distance that any shares can have."""
        rest = 1.0 - self.expected
        each = np.maximum(rest, self.expected) if rest.shape[1] == 1 else rest
        return float(np.mean(np.max(each, axis=1)))

    def of(self, used: inputs.Bools) -> Parts:
        """Return the parts of some of the prompts."""
        return Parts(self.shown[used], self.n[used], self.expected[used], self.weight)

    def kinds(self) -> Iterator[tuple[int, float, inputs.Bools]]:
        """Yield every (number of images, reference share) with a mask of the parts that have it."""
        pairs = self.n[:, None] + 1j * self.expected
        kinds, place = np.unique(pairs, return_inverse=True)
        place = place.reshape(pairs.shape)
        for k, kind in enumerate(kinds):
            yield int(kind.real), float(kind.imag), place == k


def fixed_ends(parts: Parts, level: float) -> tuple[float, float]:
    """Return the ends of the mean distance of at least two fixed prompts.

    Means of bounding functions and Student's quantile. They hold approximately. Few prompts with
    unequal numbers of images have exact ones. Of many, those with the fewest images may have any
    distance, where they would widen the interval by more.
    """
    if is_skewed(parts.n.tolist()):
        return _exact_ends(parts, (1.0 - level) / 2.0)
    is_judged = parts.n >= _fewest_judged(parts.n)
    judged, share = parts.of(is_judged), float(np.mean(is_judged))
    left_out = parts.of(~is_judged).furthest * (1.0 - share) if share < 1.0 else 0.0
    student = float(scipy.stats.t.ppf((1.0 + level) / 2.0, judged.n.sum() - len(judged.n)))
    low, low_error = bounding_mean(judged, "below")
    high, high_error = bounding_mean(judged, "above")
    low, high = share * (low - student * low_error), share * (high + student * high_error)
    return max(0.0, low), min(1.0, high + left_out)


def _fewest_judged(n: Whole) -> int:
    """Return the fewest images of judged prompts: all prompts where they are equal.

    The numbers of images decide, and not what the images show.
    """
    images, prompts = np.unique(n, return_counts=True)
    left_out = (np.cumsum(prompts) - prompts) / len(n)
    return int(images[np.argmin(left_out + PSEUDO / images / len(n))])


def _exact_ends(parts: Parts, error: float) -> tuple[float, float]:
    """Return ends by the largest tails (``worst_case``); of more than two labels, by Bonferroni."""
    prompts = len(parts.n)
    if parts.expected.shape[1] > 1:
        ends = [
            distance_range(*exact_ends(row, n, error / prompts / len(row)), expected)
            for row, n, expected in zip(parts.shown, parts.n, parts.expected, strict=True)
        ]
        low, high = np.mean(ends, axis=0)
        return float(low), float(high)
    rows = list(zip(parts.n.tolist(), parts.expected[:, 0].tolist(), strict=True))
    outcomes = parts.shown[:, 0].tolist()
    least, room = (
        budget_not_rejected([prompt_part(n, r, side) for n, r in rows], outcomes, error) / prompts
        for side in ("below", "above")
    )
    furthest = float(np.mean([max(r, 1.0 - r) for _, r in rows]))
    return min(1.0, least), max(0.0, furthest - room)


def expected_distance(n: int, r: float, p: inputs.Floats) -> inputs.Floats:
    """Return E|K/n - r| for K ~ Binomial(n, p), [n_values]."""
    k = np.arange(n + 1)
    return np.asarray(scipy.stats.binom.pmf(k, n, p[:, None]) @ np.abs(k / n - r), dtype=np.float64)


def bounding_mean(parts: Parts, side: Side) -> tuple[float, float]:
    """Return the mean of the bounding functions, and its standard error within prompts."""
    value, spread = np.empty(parts.expected.shape), np.empty(parts.expected.shape)
    for n, r, at in parts.kinds():
        function, label_counts = bounding_distance(n, r, side), parts.shown[at]
        value[at], spread[at] = function.value[label_counts], function.variance[label_counts]
    # Labels exclude each other; for any correlation, the deviation of a sum is at most their sum.
    deviation = parts.weight * np.sum(np.sqrt(spread), axis=1)
    variance = float(np.mean(deviation**2)) / len(parts.n)
    mean = float(np.mean(np.sum(value, axis=1))) * parts.weight
    return mean, math.hypot(math.sqrt(variance), PSEUDO / (int(parts.n.min()) * len(parts.n)))


def total_variation_floor(counts: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the expected mean plug-in distance of a model that follows the reference."""
    parts = one_against_rest(counts, reference)
    return float(np.mean(np.sum(_floors(parts), axis=1)) * parts.weight)


def mean_total_variation_interval(
    counts: npt.ArrayLike, reference: npt.ArrayLike, *, level: float
) -> Interval:
    """Return the mean total variation distance of prompts from their references, with an interval.

    Each end holds at the one-sided level (1 + level) / 2, approximately (``fixed_ends``); even
    references of two labels have half the model bias score.
    """
    check_level(level)
    parts = one_against_rest(counts, reference)
    if parts.expected.shape[1] == 1 and bool(np.all(parts.expected == EVEN)):
        label_counts = parts.shown[:, 0]
        half = model_bias_interval(label_counts, parts.n - label_counts, level=level, seed=0)
        ends = half.low / 2.0, half.high / 2.0
        return Interval(half.estimate / 2.0, *ends, level, half.method, half.n)
    below, above = (bounding_mean(parts, side)[0] for side in ("below", "above"))
    estimate = min(parts.furthest, max(0.0, (below + above) / 2.0))
    if len(parts.n) == 1:
        exact = _single(counts, reference, level)
        ends, method = (exact.low, exact.high), exact.method
    else:
        ends, method = fixed_ends(parts, level), "bounding functions"
    return containing(estimate, ends, level, method, len(parts.n))


def one_against_rest(counts: npt.ArrayLike, reference: npt.ArrayLike) -> Parts:
    """Return the counts as shares of one label against the rest, for prompts with an image."""
    numbers = inputs.whole_counts("counts", counts)
    if numbers.ndim != 2 or numbers.shape[1] < 2:  # noqa: PLR2004 - prompts and labels
        raise ValueError(f"counts must be [n_prompts, n_labels], got counts.shape={numbers.shape}")
    shares = inputs.in_range("reference", reference, 0.0, 1.0)
    if shares.shape not in (numbers.shape, numbers.shape[1:]):
        raise ValueError(
            f"reference must have the shape {numbers.shape} or {numbers.shape[1:]}, "
            f"got reference.shape={shares.shape}"
        )
    shares = np.broadcast_to(shares, numbers.shape)
    totals = shares.sum(axis=1)
    if np.any(np.abs(totals - 1.0) > SUM_TOLERANCE):
        wrong = int(np.argmax(np.abs(totals - 1.0)))
        raise ValueError(f"reference must sum to 1, got {totals[wrong]:g} for prompt {wrong}")
    n = numbers.sum(axis=1)
    used = n > 0
    if not np.any(used):
        raise ValueError(f"counts hold no image in {used.size} prompts")
    last, weight = (1, 1.0) if numbers.shape[1] == 2 else (None, 0.5)  # noqa: PLR2004 - one share
    return Parts(numbers[used, :last], n[used], shares[used, :last], weight)


def _single(counts: npt.ArrayLike, reference: npt.ArrayLike, level: float) -> Interval:
    rows = np.asarray(counts)
    used = rows.sum(axis=1) > 0
    shares = np.broadcast_to(np.asarray(reference, dtype=np.float64), rows.shape)[used][0]
    label_counts, real = (
        {str(label): value for label, value in enumerate(values.tolist())}
        for values in (rows[used][0], shares)
    )
    return total_variation_interval(label_counts, real, level)


def _floors(parts: Parts) -> inputs.Floats:
    """Return the expected plug-in of a model that follows the reference, [n_prompts, n_parts]."""
    floors = np.empty(parts.expected.shape)
    for n, r, at in parts.kinds():
        floors[at] = expected_distance(n, r, np.array([r]))[0]
    return floors
