"""Gaps of a share: of two sets of images, paired images, conditions of a prompt, or groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import permutations

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import ROUNDING, Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.inversion import (
    Alternative,
    check_alternative,
    inverting,
)
from pytest_t2i.statistics.shares import (
    Counted,
    binomial_tail,
    bisected,
    check_level,
    containing,
    share_interval,
)

POINTS = 64
"""Number of shares over which the probability is maximised; they find it to 0.001."""
HALVINGS = 20
"""Steps of the bisection for an end: it is found to within 1/2 ** 19."""


def share_difference_p_value(
    before: Counted, after: Counted, bound: float, *, alternative: Alternative = "greater"
) -> float:
    """Return the p-value of a bound on the difference of two shares of independent images.

    An unconditional test: the largest probability, over shares whose difference is the bound, of
    counts whose score statistic, with a plain smoothed variance, is at least that of these (Chan
    1998). It finds up to 15 in 100 differences more than the score test of Miettinen and Nurminen
    with a correction for continuity, and errs in at most 5 % (tests/simulations/two_shares.md).
    """
    check_alternative(alternative)
    limit = float(inputs.in_range("bound", bound, -1.0, 1.0))
    first, second = _checked("before", before), _checked("after", after)
    if alternative == "less":
        first, second, limit = second, first, -limit
    return excess_p_value(*second, *first, limit)


@lru_cache(maxsize=65536)
def excess_p_value(k: int, n: int, j: int, m: int, bound: float) -> float:
    """Return the exact p-value of "k/n exceeds j/m by at most the bound", over all shares."""
    counts, low, high = np.arange(n + 1), np.full(n + 1, -1), np.full(n + 1, m + 1)
    seen = float(_statistic(np.array([k]), n, np.array([j]), m, bound)[0]) - ROUNDING
    # As many of the second as leave the first with a statistic that is as large, by bisection.
    for _ in range(m.bit_length() + 1):
        middle = np.clip((low + high) // 2, 0, m)
        is_reached = _statistic(counts, n, middle, m, bound) >= seen
        low, high = np.where(is_reached, middle, low), np.where(is_reached, high, middle)
    of_second = _chances(m, max(0.0, -bound), min(1.0, 1.0 - bound), is_summed=True)
    larger = _chances(n, max(0.0, bound), min(1.0, 1.0 + bound))
    reached = np.where(low >= 0, of_second[:, np.maximum(low, 0)], 0.0)
    return min(1.0, float(np.max(np.sum(larger * reached, axis=1))))


TINY, NEARLY_ONE = 1e-300, 1.0 - 1e-16
"""Shares that stand for 0 and 1, whose logarithm is infinite."""


# Cached, as the pairs of many groups of one size are tested at the same bounds.
@lru_cache(maxsize=4)
def _chances(n: int, least: float, most: float, *, is_summed: bool = False) -> inputs.Floats:
    """Return binomial chances at shares from least to most, or sums of them, [POINTS, n + 1]."""
    k, shares = np.arange(n + 1), np.linspace(least, most, POINTS)[:, None]
    ways = -scipy.special.betaln(n - k + 1.0, k + 1.0) - math.log(n + 1.0)
    shown = np.log(np.maximum(shares, TINY))
    not_shown = np.log1p(-np.minimum(shares, NEARLY_ONE))
    chances = np.exp(ways + k * shown + (n - k) * not_shown)
    return np.asarray(np.cumsum(chances, axis=1) if is_summed else chances, dtype=np.float64)


def _statistic(
    k: npt.NDArray[np.int64], n: int, j: npt.NDArray[np.int64], m: int, bound: float
) -> inputs.Floats:
    """Return the standardised excess; one image more of either kind keeps the variance above 0."""
    p, q = (k + 1.0) / (n + 2.0), (j + 1.0) / (m + 2.0)
    variance = p * (1.0 - p) / n + q * (1.0 - q) / m
    return np.asarray((k / n - j / m - bound) / np.sqrt(variance), dtype=np.float64)


def share_difference_interval(before: Counted, after: Counted, level: float) -> Interval:
    """Return the difference of a share between two independent sets of images.

    The unconditional test of ``share_difference_p_value`` is inverted (Chan 1998).

    Args:
        before: number of images that show the trait, and of judged images, in the first set.
        after: the same for the second set.
        level: confidence level in (0, 1).

    Returns:
        Interval of the second share minus the first, in [-1, 1]; n is the smaller set's size.

    Raises:
        ValueError: as ``share_difference_p_value``, or the level lies outside (0, 1).

    >>> print(share_difference_interval((56, 70), (48, 80), 0.95))
    -0.200 [-0.349, -0.052]
    """
    check_level(level)
    first, second = _checked("before", before), _checked("after", after)
    estimate, error = second[0] / second[1] - first[0] / first[1], (1.0 - level) / 2.0
    low = _smallest(lambda bound: excess_p_value(*second, *first, bound) > error, -1.0, estimate)
    high = -_smallest(lambda bound: excess_p_value(*first, *second, bound) > error, -1.0, -estimate)
    fewer = min(first[1], second[1])
    return containing(estimate, (low, high), level, "exact", fewer)


def _checked(name: str, counts: Counted) -> tuple[int, int]:
    hits, images = counts
    if not (images > 0 and 0 <= hits <= images and hits == int(hits) and images == int(images)):
        raise ValueError(
            f"{name} must be (images that show it, judged images) with 0 <= shown <= judged and at "
            f"least one judged image, got {name}={counts!r}"
        )
    return int(hits), int(images)


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return a value below which a condition does not hold; ``low`` where it holds there."""
    return low if holds(low) else bisected(holds, low, high, HALVINGS)[0]


NEARLY_EVEN = 0.25
"""Low end of a score, in distances from its estimate, up to which it may be 0: with 0 a growth of
an even baseline to the margin passed in 7 % of runs (ten prompts, 10 and 80 images)."""


def interval_difference(before: Interval, after: Interval) -> Interval:
    """Return the change of an absolute score, from an interval of each, by "square and add".

    (Zou and Donner 2008.) For independent ones; wider than needed where they correlate positively.
    The method assumes unbiased estimates, and those of a score near 0 are not: where the low end of
    a score is nearly 0, the interval reaches as far as if the score were.

    Args:
        before: recorded interval of the absolute score.
        after: interval of now, at the same level.

    Returns:
        The interval of after minus before.

    Raises:
        ValueError: the levels differ.

    >>> before = Interval(0.2, 0.1, 0.3, 0.9, "", 40)
    >>> print(interval_difference(before, Interval(0.6, 0.5, 0.7, 0.9, "", 40)))
    0.400 [0.259, 0.541]
    """
    if before.level != after.level:
        raise ValueError(f"expected equal levels, got {before.level} and {after.level}")
    change = after.estimate - before.estimate
    down = math.hypot(after.estimate - after.low, before.high - before.estimate)
    up = math.hypot(after.high - after.estimate, before.estimate - before.low)
    low, high = change - down, change + up
    if after.low <= NEARLY_EVEN * (after.estimate - after.low):
        low = min(low, -before.high)
    if before.low <= NEARLY_EVEN * (before.estimate - before.low):
        high = max(high, after.high)
    fewer = min(before.n, after.n)
    return Interval(change, low, high, after.level, "square-and-add", fewer)


def difference_of_exclusive(first: Interval, second: Interval) -> Interval:
    """Return the interval of first minus second, two mutually exclusive shares of the same units.

    .. math:: low = d - sqrt(x^2 + y^2 + 2 r x y),  x = p_1 - l_1,  y = u_2 - p_2,  d = p_1 - p_2

    with r the absolute correlation of the shares (MOVER, Zou and Donner 2008); approximate.
    """
    together = 2.0 * _correlation(first.estimate, second.estimate)

    def reach(x: float, y: float) -> float:
        return math.sqrt(x**2 + y**2 + together * x * y)

    estimate = first.estimate - second.estimate
    low = reach(first.estimate - first.low, second.high - second.estimate)
    high = reach(first.high - first.estimate, second.estimate - second.low)
    low, high = max(-1.0, estimate - low), min(1.0, estimate + high)
    return Interval(estimate, low, high, first.level, "mover", first.n)


def _correlation(p: float, q: float) -> float:
    """Return the absolute correlation of two shares of a multinomial distribution."""
    if p + q > 1.0 - ROUNDING:  # where no unit shows neither, the shares are complementary
        return 1.0
    return math.sqrt(p * q / ((1.0 - p) * (1.0 - q)))


Pairs = Sequence[npt.ArrayLike]
Whole = npt.NDArray[np.int64]


def paired_gap_interval(first: Pairs, second: Pairs, *, level: float) -> Interval:
    """Return the share of the first minus the share of the second, on pairs of the same seeds.

    MOVER of the two shares of discordant pairs (Zou and Donner 2008, for two cells of a
    multinomial), by their exact intervals. Pairs are independent; where prompts differ it is
    conservative (Hoeffding 1956; tests/simulations/refusals.md).

    Args:
        first: whether it holds for the first image of each pair, one array per prompt.
        second: the same for the second image, of the same shapes.
        level: confidence level in (0, 1).

    Returns:
        Interval of the difference in [-1, 1]; n is the number of pairs.

    Raises:
        ValueError: shapes differ, there is no pair, or the level is out of range.

    >>> print(paired_gap_interval([[1] * 18 + [0] * 2], [[1] * 20], level=0.95))
    -0.100 [-0.317, 0.090]
    """
    check_level(level)
    alone, second_alone, n = _counts(first, second)
    b, c = (share_interval(k, n, level) for k in (alone, second_alone))
    return replace(difference_of_exclusive(b, c), method=f"mover of {b.method}")


paired_gap_p_value = inverting(paired_gap_interval, absolute=True)


def _counts(first: Pairs, second: Pairs) -> tuple[int, int, int]:
    """Return the pairs in which the first, or the second, alone shows it, and all pairs."""
    if len(first) != len(second):
        raise ValueError(
            f"first and second must have as many prompts, got {len(first)} and {len(second)}"
        )
    sides = [
        (inputs.booleans(f"first[{k}]", a).ravel(), inputs.booleans(f"second[{k}]", b).ravel())
        for k, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    for k, (a, b) in enumerate(sides):
        inputs.same_shape(**{f"first[{k}]": a, f"second[{k}]": b})
    used = [(a, b) for a, b in sides if a.size]
    if not used:
        raise ValueError(f"first must hold at least one pair, got first={list(first)!r}")
    a, b = (np.concatenate(side) for side in zip(*used, strict=True))
    return int(np.sum(a & ~b)), int(np.sum(b & ~a)), a.size


Group = Sequence[npt.ArrayLike]
"""Images of each prompt of a group: 1 where an image has the outcome, else 0."""


def parity_difference_interval(groups: Mapping[str, Group], *, level: float) -> Interval:
    """Return the demographic parity difference with an interval.

    The groups with the extreme shares in the sample need not be the true extremes: the exact tests
    of all pairs of groups are inverted, those of the low end with Bonferroni's correction. A group
    without images may have any share.
    """
    check_level(level)
    counts, has_empty = _counts_of_groups(groups)
    shares = list(map(_share, counts))
    estimate, error = max(shares) - min(shares), (1.0 - level) / 2.0

    def is_open(p_value: Callable[[float], float], bound: float) -> bool:
        return p_value(bound) > error

    low, high = 0.0, estimate
    for p_value in _parity_tests(counts, "greater"):
        if not is_open(p_value, low):
            low = bisected(partial(is_open, p_value), low, estimate, HALVINGS)[0]
    for p_value in _parity_tests(counts, "less", has_empty=has_empty):
        if is_open(p_value, high):
            high = bisected(partial(is_open, p_value), 1.0, high, HALVINGS)[0]
    prompts = sum(len(_prompts(name, group)) for name, group in groups.items())
    return Interval(estimate, low, high, level, "exact", prompts)


def parity_difference_p_value(
    groups: Mapping[str, Group], bound: float, *, alternative: Alternative = "greater"
) -> float:
    """Return the p-value of a bound on the demographic parity difference, as the interval's."""
    check_alternative(alternative)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    counts, has_empty = _counts_of_groups(groups)
    tests = _parity_tests(counts, alternative, has_empty=has_empty)
    p_values = [p_value(limit) for p_value in tests]
    return min(1.0, min(p_values) if alternative == "greater" else max(p_values))


CLOSE, FAR = 0.5, 6.0
"""Excess of a pair of groups over a bound, in standard errors, below which the pair cannot decide:
it is no evidence of more than the bound, or, below the negative one, surely within the bound."""


def _parity_tests(
    counts: Sequence[tuple[int, int]], alternative: Alternative, *, has_empty: bool = False
) -> Iterator[Callable[[float], float]]:
    """Yield p-values of a bound, of which the least or largest decides; distant pairs first."""
    pairs = sorted(permutations(counts, 2), key=lambda pair: _share(pair[1]) - _share(pair[0]))
    is_greater = alternative == "greater"
    times, least, none = (len(pairs), CLOSE, 1.0) if is_greater else (1, -FAR, 0.0)
    by_sizes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (k, n), (j, m) in pairs:
        by_sizes.setdefault((n, m), []).append((k, j))

    def of_sizes(n: int, m: int, hits: Whole, is_first: bool, bound: float) -> float:
        # Of pairs of the same sizes, the largest statistic has the deciding p-value on either side.
        excess = _statistic(hits[:, 0], n, hits[:, 1], m, bound)
        place = int(np.argmax(excess))
        if not is_first and excess[place] < least:
            return none
        k, j = map(int, hits[place])
        return times * share_difference_p_value((j, m), (k, n), bound, alternative=alternative)

    for place, ((n, m), hits) in enumerate(by_sizes.items()):
        yield partial(of_sizes, n, m, np.array(hits), not place)
    if has_empty and not is_greater:
        for k, n in counts:
            yield partial(_p_value_of_empty, k, n)


def _p_value_of_empty(k: int, n: int, bound: float) -> float:
    """Return the p-value of a group and one that may have any share."""
    tails = binomial_tail(k, n, bound, "below"), binomial_tail(k, n, 1.0 - bound)
    return float(max(tails))


def _share(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1]


def _counts_of_groups(groups: Mapping[str, Group]) -> tuple[list[tuple[int, int]], bool]:
    """Return the images with the outcome, and all, of groups with one; and whether one has none."""
    pooled = [
        np.concatenate(prompts) for prompts in map(_prompts, groups, groups.values()) if prompts
    ]
    if len(pooled) < 2:  # noqa: PLR2004 - one group has no difference
        raise ValueError(f"at least two groups must have an image, got {len(pooled)}")
    return [(int(images.sum()), images.size) for images in pooled], len(pooled) < len(groups)


def parity_shares(groups: Mapping[str, Group], *, level: float) -> dict[str, Interval]:
    """Return the share of the outcome in each group, with simultaneous intervals (Bonferroni).

    They are Clopper and Pearson's, conservative where prompts differ (Hoeffding 1956).
    """
    check_level(level)
    if not groups:
        raise ValueError("groups must hold at least one group, got none")
    group_level = 1.0 - (1.0 - level) / len(groups)
    return {name: _pooled(_prompts(name, group), group_level) for name, group in groups.items()}


def widest_gap(low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and largest gap between extreme shares that lie in these intervals."""
    lows, highs = inputs.floats("low", low), inputs.floats("high", high)
    reach = highs[:, None] - lows[None, :]
    np.fill_diagonal(reach, 0.0)
    return max(0.0, float(lows.max() - highs.min())), min(1.0, float(reach.max()))


def _prompts(name: str, group: Group) -> list[inputs.Bools]:
    prompts = [inputs.booleans(f"groups[{name!r}]", entry).ravel() for entry in group]
    return [prompt for prompt in prompts if prompt.size]


def _pooled(prompts: list[inputs.Bools], level: float) -> Interval:
    if not prompts:
        return Interval(0.5, 0.0, 1.0, level, "none", 0)
    images = np.concatenate(prompts)
    return share_interval(int(images.sum()), images.size, level)
