"""Curves over denoising steps: their mean with a simultaneous band, and where a share settles."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares import check_level

FEWEST_CURVES = 2
"""A single image has no spread."""


class Band(NamedTuple):
    """A mean curve with a simultaneous band: it covers the true mean at all steps at once."""

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    n: int
    """Number of curves."""


def mean_band(curves: npt.ArrayLike, *, level: float) -> Band:
    """Return the mean of curves over steps with a simultaneous confidence band.

    Student's t with Bonferroni's correction over steps, for independent curves. On the side towards
    0 the band reaches as far as that of the curves and their mirrored mean, as few images may lack
    a kind that deviates to the other side (tests/simulations/curves.md).
    """
    check_level(level)
    rows = _rows(curves)
    mean = rows.mean(axis=0)
    low, high = _ends(rows, level)
    missed = _ends(np.vstack([rows, -mean]), level)
    low = np.where(mean > 0.0, np.minimum(low, missed[0]), low)
    high = np.where(mean < 0.0, np.maximum(high, missed[1]), high)
    return Band(tuple(mean.tolist()), tuple(low.tolist()), tuple(high.tolist()), level, len(rows))


def _ends(rows: inputs.Floats, level: float) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the ends of the simultaneous band of the mean of these curves."""
    n, mean = len(rows), rows.mean(axis=0)
    errors = rows.std(axis=0, ddof=1) / math.sqrt(n)
    reach = float(scipy.stats.t.ppf(1.0 - (1.0 - level) / (2.0 * len(mean)), n - 1)) * errors
    return mean - reach, mean + reach


def settled_step(shares: npt.ArrayLike, final: Interval) -> int:
    """Return the step from which on a share stays within the interval of the finished images."""
    values = inputs.in_range("shares", shares, 0.0, 1.0)
    inputs.one_dimensional(shares=values)
    inputs.not_empty(shares=values)
    outside = np.flatnonzero((values < final.low) | (values > final.high))
    return int(outside[-1]) + 2 if outside.size else 1


def _rows(curves: npt.ArrayLike) -> inputs.Floats:
    rows = inputs.floats("curves", curves)
    if rows.ndim != 2 or len(rows) < FEWEST_CURVES or not rows.size:  # noqa: PLR2004 - images, steps
        raise ValueError(
            f"curves must hold at least {FEWEST_CURVES} rows of steps, got "
            f"curves.shape={rows.shape}"
        )
    return rows
