"""Gaps of a share: of two sets of images, paired images, conditions of a prompt, or groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    check_level,
    containing,
    share_interval,
)


def share_difference_p_value(
    before: Counted, after: Counted, bound: float, *, alternative: Alternative = "greater"
) -> float:
    """Return the p-value of a bound on the difference of two shares.

    The score test of Miettinen and Nurminen (1985), the shares the likeliest whose difference is
    the bound, with a continuity correction, without which it rejects true bounds in up to 19 %
    (tests/simulations/two_shares.md).
    """
    check_alternative(alternative)
    limit = float(inputs.in_range("bound", bound, -1.0, 1.0))
    first, second = _checked("before", before), _checked("after", after)
    if alternative == "less":
        first, second, limit = second, first, -limit
    return float(scipy.special.ndtr(-_deviations(second, first, limit)))


def share_difference_interval(before: Counted, after: Counted, level: float) -> Interval:
    """Return the difference of a share between two sets of images, by inverting the score test.

    Args:
        before: number of images that show the trait, and of judged images, in the first set.
        after: the same for the second set.
        level: confidence level in (0, 1).

    Returns:
        Interval of the second share minus the first, in [-1, 1]; n is the smaller set's size.

    Raises:
        ValueError: as ``share_difference_p_value``, or the level lies outside (0, 1).

    >>> print(share_difference_interval((56, 70), (48, 80), 0.95))
    -0.200 [-0.351, -0.039]
    """
    check_level(level)
    first, second = _checked("before", before), _checked("after", after)
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    estimate = second[0] / second[1] - first[0] / first[1]
    low = _end(second, first, z, estimate)
    high = -_end(first, second, z, -estimate)
    fewer = int(min(first[1], second[1]))
    return containing(estimate, (low, high), level, "score", fewer)


def _checked(name: str, counts: Counted) -> Counted:
    hits, images = map(float, counts)
    if not (images > 0.0 and 0.0 <= hits <= images):
        raise ValueError(
            f"{name} must be (images that show it, judged images) with 0 <= shown <= judged and at "
            f"least one judged image, got {name}={counts!r}"
        )
    return hits, images


def _end(upper: Counted, lower: Counted, z: float, estimate: float) -> float:
    """Return the smallest difference that is less than z standard deviations away."""
    if _deviations(upper, lower, -1.0) <= z:
        return -1.0
    beyond = min(1.0, estimate)
    if _deviations(upper, lower, beyond) > z:
        return beyond
    return float(
        scipy.optimize.brentq(lambda d: _deviations(upper, lower, d) - z, -1.0, beyond, xtol=1e-7)
    )


def _deviations(upper: Counted, lower: Counted, bound: float) -> float:
    """Return the standard deviations by which the first share minus the second exceeds a bound."""
    (k, n), (j, m) = upper, lower
    excess = k / n - j / m - bound - (1.0 / n + 1.0 / m) / 2.0
    p, q = _likeliest(upper, lower, bound)
    variance = (p * (1.0 - p) / n + q * (1.0 - q) / m) * (n + m) / (n + m - 1.0)
    if variance <= 0.0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(variance)


def _likeliest(upper: Counted, lower: Counted, bound: float) -> tuple[float, float]:
    """Return the likeliest shares with this difference: a root of a cubic, as in the paper."""
    (k, n), (j, m) = upper, lower
    total = n + m
    square = (n + 2.0 * m) * bound - total - k - j
    linear = (m * bound - total - 2.0 * j) * bound + k + j
    plain = j * bound * (1.0 - bound)
    third = square / (3.0 * total)
    inner = third**3 - square * linear / (6.0 * total**2) + plain / (2.0 * total)
    width = math.copysign(math.sqrt(max(0.0, third**2 - linear / (3.0 * total))), inner)
    angle = math.acos(min(1.0, max(-1.0, inner / width**3))) if width else math.pi / 2.0
    root = 2.0 * width * math.cos((math.pi + angle) / 3.0) - third
    q = min(max(root, 0.0, -bound), 1.0, 1.0 - bound)
    return min(1.0, max(0.0, q + bound)), q


def interval_difference(before: Interval, after: Interval) -> Interval:
    """Return the change of an absolute score, from an interval of each, by "square and add".

    (Zou and Donner 2008.) For independent ones; wider than needed where they correlate positively.
    The method assumes unbiased estimates, and those of a score near 0 are not: where a score may be
    0, the interval reaches as far as if it were.

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
    if after.low <= 0.0:
        low = min(low, -before.high)
    if before.low <= 0.0:
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

    MOVER of the two shares of discordant pairs (``difference_of_exclusive``) by Clopper and
    Pearson, conservative where prompts differ (Hoeffding 1956; tests/simulations/refusals.md).
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

    The groups with the extreme shares in the sample need not be the true extremes: the score
    intervals of all pairs of groups are combined, the low end with Bonferroni's correction. A group
    without images may have any share.
    """
    shares = parity_shares(groups, level=level)
    estimates = [share.estimate for share in shares.values() if share.n]
    if len(estimates) < 2:  # noqa: PLR2004 - one group has no difference
        raise ValueError(f"at least two groups must have an image, got {len(estimates)}")
    estimate = max(estimates) - min(estimates)
    prompts = {name: _prompts(name, group) for name, group in groups.items()}
    ends = _gap_of_extremes(list(prompts.values()), level)
    return Interval(estimate, *ends, level, "score", sum(map(len, prompts.values())))


def parity_shares(groups: Mapping[str, Group], *, level: float) -> dict[str, Interval]:
    """Return the share of the outcome in each group, with simultaneous intervals (Bonferroni).

    They are Clopper and Pearson's, conservative where prompts differ (Hoeffding 1956).
    """
    check_level(level)
    if not groups:
        raise ValueError("groups must hold at least one group, got none")
    group_level = 1.0 - (1.0 - level) / len(groups)
    return {name: _pooled(_prompts(name, group), group_level) for name, group in groups.items()}


parity_difference_p_value = inverting(parity_difference_interval)


def widest_gap(low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and largest gap between extreme shares that lie in these intervals."""
    lows, highs = inputs.floats("low", low), inputs.floats("high", high)
    reach = highs[:, None] - lows[None, :]
    np.fill_diagonal(reach, 0.0)
    return max(0.0, float(lows.max() - highs.min())), min(1.0, float(reach.max()))


def _gap_of_extremes(groups: Sequence[Sequence[inputs.Bools]], level: float) -> tuple[float, float]:
    """Return the ends of the difference between the largest and the smallest pooled share."""
    pooled = [np.concatenate(group) for group in groups if group]
    counts = [(float(images.sum()), float(images.size)) for images in pooled]
    strict = 1.0 - (1.0 - level) / (len(counts) * (len(counts) - 1))
    low = max(share_difference_interval(b, a, strict).low for a, b in permutations(counts, 2))
    high = max(share_difference_interval(b, a, level).high for a, b in permutations(counts, 2))
    if len(pooled) < len(groups):
        ends = [_pooled([group], level) for group in pooled]
        high = max(high, *(max(end.high, 1.0 - end.low) for end in ends))
    return max(0.0, low), min(1.0, high)


def _prompts(name: str, group: Group) -> list[inputs.Bools]:
    prompts = [inputs.booleans(f"groups[{name!r}]", entry).ravel() for entry in group]
    return [prompt for prompt in prompts if prompt.size]


def _pooled(prompts: list[inputs.Bools], level: float) -> Interval:
    if not prompts:
        return Interval(0.5, 0.0, 1.0, level, "none", 0)
    images = np.concatenate(prompts)
    return share_interval(int(images.sum()), images.size, level)
