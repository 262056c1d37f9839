"""Intervals of a difference of two values, from an interval of each."""

from __future__ import annotations

import math

from pytest_t2i.data import ROUNDING, Interval


def interval_difference(before: Interval, after: Interval) -> Interval:
    """Return the interval of after minus before, from an interval of each, by "square and add".

    .. math:: d - sqrt((e_2 - l_2)^2 + (u_1 - e_1)^2),  d + sqrt((u_2 - e_2)^2 + (e_1 - l_1)^2)

    (Newcombe 1998; Zou and Donner 2008.) The coverage is near the level of the two intervals where
    they are independent, and larger where images of one seed correlate positively.

    Args:
        before: interval of the value before the change.
        after: interval of the value after the change, at the same level.

    Returns:
        Interval of after minus before; n is the smaller n of the two.

    Raises:
        ValueError: the levels differ.

    >>> print(interval_difference(Interval(0.2, 0.1, 0.3, 0.95, "", 9),
    ...                           Interval(0.5, 0.4, 0.6, 0.95, "", 9)))
    0.300 [0.159, 0.441]
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

    Each unit shows the first, the second or neither.

    .. math:: low = d - sqrt(x^2 + y^2 + 2 r x y),  x = p_1 - l_1,  y = u_2 - p_2,  d = p_1 - p_2

    with the shares p, their ends l and u, and r the absolute correlation of the two shares, which
    is negative; high follows alike (method of variance estimates recovery, MOVER, Zou and Donner
    2008). The interval is approximate.

    >>> from pytest_t2i.statistics.shares.intervals import clopper_pearson
    >>> both = (clopper_pearson(k, 100, 0.95) for k in (0, 10))
    >>> print(difference_of_exclusive(*both))
    -0.100 [-0.176, -0.037]
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
