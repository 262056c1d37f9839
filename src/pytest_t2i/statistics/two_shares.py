"""Differences of two shares, of independent or of the same images."""

from __future__ import annotations

import math

import scipy

from pytest_t2i.data import ROUNDING, Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.inversion import Alternative, check_alternative
from pytest_t2i.statistics.shares import Counted, check_level, containing


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
    """Return the interval of after minus before, from an interval of each, by "square and add".

    (Zou and Donner 2008.) For independent ones; wider than needed where they correlate positively.
    """
    if before.level != after.level:
        raise ValueError(f"expected equal levels, got {before.level} and {after.level}")
    change = after.estimate - before.estimate
    down = math.hypot(after.estimate - after.low, before.high - before.estimate)
    up = math.hypot(after.high - after.estimate, before.estimate - before.low)
    fewer = min(before.n, after.n)
    return Interval(change, change - down, change + up, after.level, "square-and-add", fewer)


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
