"""What the bootstraps have in common: quantiles widened for few units, and argument checks."""

from __future__ import annotations

import math

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level


def expanded_tail(clusters: int, level: float) -> float:
    """Return the tail probability to cut off a bootstrap distribution of a mean over few units.

    The bootstrap distribution of a mean of n values is too narrow by the factor sqrt((n-1)/n), and
    ignores that the spread is itself estimated; a smaller tail makes up for both (Hesterberg 2015,
    section 5.3).

    .. math:: Phi(-sqrt(n / (n - 1)) t_{n-1, (1+level)/2})

    Args:
        clusters: number of resampled units, at least 2.
        level: confidence level in (0, 1).

    Returns:
        Probability below (1 - level) / 2, towards which it grows with n.

    >>> round(expanded_tail(10, 0.95), 4), round(expanded_tail(10_000, 0.95), 4)
    (0.0086, 0.025)
    """
    student = float(scipy.stats.t.ppf((1.0 + level) / 2.0, clusters - 1))
    return float(scipy.stats.norm.cdf(-math.sqrt(clusters / (clusters - 1)) * student))


def percentiles(values: inputs.Floats, tail: float) -> tuple[float, float]:
    """Return the lower and upper quantile that leave ``tail`` on either side.

    >>> percentiles(np.arange(101.0), 0.05)
    (5.0, 95.0)
    """
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


def check_resampling(level: float, resamples: int) -> None:
    """Raise a ValueError for a level outside (0, 1) or too few resamples for a tail.

    >>> check_resampling(0.95, 2000)
    """
    check_level(level)
    if resamples < 100:  # noqa: PLR2004 - fewer leave no value beyond a 1 % quantile
        raise ValueError(f"resamples must be at least 100, got resamples={resamples!r}")
