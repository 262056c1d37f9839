"""Interval of a mean of values that come in groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level
from pytest_t2i.statistics.shares.resampling import check_resampling, expanded_tail, percentiles

SYMMETRIC = 1e-6
"""A smaller skewness changes no end, and is not divided by."""
FEW_GROUPS = 10
"""Below so many units their skewness is not known well enough to do anything about it."""


@dataclass(frozen=True, slots=True)
class MeanError:
    """A mean and how far it may be off: of these an interval follows at any level.

    >>> print(MeanError(0.3, 0.1, freedom=9.0, units=10, method="cluster-t").interval(0.95))
    0.300 [0.074, 0.526]
    """

    estimate: float
    error: float
    """Standard error."""
    freedom: float
    """Degrees of freedom of the standard error."""
    units: int
    method: str
    skewness: float = 0.0
    """Skewness of the mean, to be removed by Hall's transformation."""

    def interval(self, level: float) -> Interval:
        """Student's, and Hall's where there is a skewness. Raises ValueError for a level."""
        check_level(level)
        end = float(scipy.special.stdtrit(self.freedom, (1.0 + level) / 2.0))
        low, high = (self.estimate - self.error * self._unskewed(t) for t in (end, -end))
        return Interval(self.estimate, low, high, level, self.method, self.units)

    def wider(self, level: float) -> Interval:
        """Student's interval or Hall's, whichever reaches farther, on each side.

        Few units do not tell which of the two is right: Hall's alone covered the growth of ten
        prompts in 0.92 to 0.95. Raises ValueError for a level.
        """
        hall, student = (e.interval(level) for e in (self, replace(self, skewness=0.0)))
        low, high = min(hall.low, student.low), max(hall.high, student.high)
        return replace(student, low=low, high=high)

    def _unskewed(self, end: float) -> float:
        """Where ``end``, in standard errors, lies before the transformation."""
        if abs(self.skewness) < SYMMETRIC:
            return end
        cube = 1.0 + self.skewness * (end - self.skewness / 6.0)
        return 3.0 * (float(np.cbrt(cube)) - 1.0) / self.skewness


def mean_interval(
    groups: Sequence[npt.ArrayLike],
    *,
    level: float,
    seed: int,
    bounds: tuple[float, float] | None = None,
    resamples: int = 2000,
) -> Interval:
    """Mean of values grouped by prompt, with an interval that follows how groups differ.

    Whole groups are the units, as values of one prompt are alike. A single group is taken value by
    value: then the interval is for that prompt alone. The interval is Student's on the sums of the
    units; from ten units on their skewness is removed by Hall's transformation (1992, "On the
    removal of skewness by transformation", J. R. Stat. Soc. B 54): of mean m, deviation s and
    skewness g, ends are m - s S(+-t / sqrt(n)) with
    S(x) = 3 ((1 + g (x - g / 6n))^(1/3) - 1) / g.

    Where the values are bounded, as labels of 0 and 1 are, a handful of groups may all lie near
    one end and show none of the spread there is (coverage 0.89 at ten prompts of Lyu Table 7). With
    ``bounds`` groups are resampled, and one pseudo-group takes part, as likely at either end.

    Args:
        groups: values of each prompt, one array per prompt; empty ones are left out.
        level: confidence level in (0, 1).
        seed: seed of the resampling, with bounds.
        bounds: smallest and largest possible value; None where there is none.
        resamples: number of bootstrap resamples, with bounds.

    Returns:
        Interval of the mean of all values; n is the number of groups (of values if one group).

    Raises:
        ValueError: fewer than two values, a value is not finite or outside the bounds, or an
            option is out of range.

    >>> interval = mean_interval([[0.1, 0.2], [0.3], [0.2, 0.2]], level=0.95, seed=0)
    >>> round(interval.estimate, 3), interval.n
    (0.2, 3)
    """
    check_resampling(level, resamples)
    if bounds is None:
        return mean_error(groups).interval(level)
    values = _values(groups)
    for group in values:
        inputs.in_range("groups", group, *bounds)
    sums, sizes = _sums(values)
    estimate, size = float(np.sum(sums) / np.sum(sizes)), float(np.median(sizes))
    sums = np.append(sums, [size * end for end in bounds])
    sizes = np.append(sizes, [size, size])
    chance = np.append(np.ones(len(values)), np.full(2, 0.5)) / (len(values) + 1.0)
    drawn = np.random.default_rng(seed).multinomial(len(values), chance, size=resamples)
    low, high = percentiles((drawn @ sums) / (drawn @ sizes), expanded_tail(len(values), level))
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "cluster-bootstrap", len(values)
    )


def mean_error(groups: Sequence[npt.ArrayLike]) -> MeanError:
    """How far the mean of values in groups may be off, for ``mean_interval`` without bounds.

    Raises ValueError: fewer than two values, or a value is not finite.
    """
    values = _values(groups)
    sums, sizes = _sums(values)
    units, mean = len(sums), float(np.sum(sums) / np.sum(sizes))
    strayed = (sums - mean * sizes) / float(np.mean(sizes))
    deviation = float(np.std(strayed, ddof=1))
    skewness = 0.0
    if units >= FEW_GROUPS and deviation > 0.0:
        third = float(np.mean(strayed**3)) * units**2
        skewness = third / ((units - 1.0) * (units - 2.0) * deviation**3) / math.sqrt(units)
    return MeanError(mean, deviation / math.sqrt(units), units - 1.0, units, "cluster-t", skewness)


def _values(groups: Sequence[npt.ArrayLike]) -> list[inputs.Floats]:
    """The value of each unit: a group, or each value of a single group."""
    values = [inputs.floats(f"groups[{i}]", group).ravel() for i, group in enumerate(groups)]
    values = [group for group in values if group.size]
    if len(values) == 1:
        values = list(values[0][:, None])
    if len(values) < 2:  # noqa: PLR2004 - one value shows no spread
        raise ValueError(f"groups must hold at least two values, got groups={list(groups)!r}")
    return values


def _sums(values: Sequence[inputs.Floats]) -> tuple[inputs.Floats, inputs.Floats]:
    sums = np.array([float(np.sum(group)) for group in values])
    return sums, np.array([group.size for group in values], dtype=np.float64)
