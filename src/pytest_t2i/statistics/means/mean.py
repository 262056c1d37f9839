"""Interval of a mean of grouped values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.inversion import check_resampling, expanded_tail, percentiles
from pytest_t2i.statistics.shares import check_level

SYMMETRIC = 1e-6
"""Smallest skewness that is transformed: a smaller one changes no end, and is no safe divisor."""
FEW_GROUPS = 10
"""Fewest units whose skewness is estimated; with fewer the estimate is too uncertain."""


@dataclass(frozen=True, slots=True)
class MeanError:
    """A mean with its standard error, from which an interval follows at any level.

    >>> print(MeanError(0.3, 0.1, freedom=9.0, units=10, method="cluster-t").interval(0.95))
    0.300 [0.074, 0.526]
    """

    estimate: float
    error: float
    """Standard error."""
    freedom: float
    """Degrees of freedom of the standard error."""
    units: int
    """Number of independent units."""
    method: str
    skewness: float = 0.0
    """Skewness of the mean; Hall's transformation removes it."""

    def interval(self, level: float) -> Interval:
        """Return Student's interval, by Hall's transformation where there is a skewness.

        Raises ValueError for a level outside (0, 1).
        """
        check_level(level)
        end = float(scipy.special.stdtrit(self.freedom, (1.0 + level) / 2.0))
        low, high = (self.estimate - self.error * self._unskewed(t) for t in (end, -end))
        return Interval(self.estimate, low, high, level, self.method, self.units)

    def wider(self, level: float) -> Interval:
        """Return the interval whose ends are Student's or Hall's, whichever reaches farther.

        Few units do not show which of the two is right: Hall's alone covered the growth of ten
        prompts in 0.92 to 0.95 of cases. Raises ValueError for a level outside (0, 1).
        """
        hall, student = (e.interval(level) for e in (self, replace(self, skewness=0.0)))
        low, high = min(hall.low, student.low), max(hall.high, student.high)
        return replace(student, low=low, high=high)

    def _unskewed(self, end: float) -> float:
        """Return the position of ``end``, in standard errors, before the transformation."""
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
    """Return the mean of grouped values with an interval whose independent units are the groups.

    Values of one prompt are dependent, so the group is the unit. With a single group, each value is
    a unit: then the interval is for that prompt alone. The interval is Student's, for the sums of
    the units (a ratio estimator). From ten units on, Hall's transformation removes the skewness
    (1992, "On the removal of skewness by transformation", J. R. Stat. Soc. B 54): with mean m,
    deviation s and skewness g, the ends are m - s S(+-t / sqrt(n)), S(x) = 3 ((1 + g (x - g /
    6n))^(1/3) - 1) / g. The coverage is approximate.

    Where values are bounded, as labels of 0 and 1 are, the means of few groups may all lie near one
    end, and show too little spread (coverage 0.89 at ten prompts of Lyu Table 7). So with
    ``bounds`` the groups are resampled (cluster bootstrap), together with one pseudo-group that
    lies at either end with equal probability.

    Args:
        groups: values of each prompt, one array per prompt; empty groups are left out.
        level: confidence level in (0, 1).
        seed: seed of the resampling, with bounds.
        bounds: smallest and largest possible value; None for unbounded values.
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
    """Return the mean of grouped values with its error, for ``mean_interval`` without bounds.

    Raises ValueError: fewer than two values, or a value is not finite.
    """
    values = _values(groups)
    sums, sizes = _sums(values)
    units, mean = len(sums), float(np.sum(sums) / np.sum(sizes))
    residuals = (sums - mean * sizes) / float(np.mean(sizes))
    deviation = float(np.std(residuals, ddof=1))
    skewness = 0.0
    if units >= FEW_GROUPS and deviation > 0.0:
        third = float(np.mean(residuals**3)) * units**2
        skewness = third / ((units - 1.0) * (units - 2.0) * deviation**3) / math.sqrt(units)
    return MeanError(mean, deviation / math.sqrt(units), units - 1.0, units, "cluster-t", skewness)


def _values(groups: Sequence[npt.ArrayLike]) -> list[inputs.Floats]:
    """Return the values of each unit: of a group, or each value of a single group."""
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
