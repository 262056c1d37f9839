"""Curves over denoising steps: mean with a simultaneous band, and the step of half the rise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.inversion import check_resampling, expanded_tail

FEWEST_CURVES = 2
"""A single image has no spread."""
FEWEST_HALVES = 10
"""Fewest images for an interval of the half step. With five images that favour neither side, a step
was reported in 10 to 30 % of cases; intervals of two or three images covered in 0.5 to 0.8 of cases
instead of 0.95 (``tests/simulations/curves.md``)."""
FEW_CURVES = 20
"""Fewest curves to resample: with fewer, coverage is too low (0.66 instead of 0.95 at five, 0.89 at
twenty)."""


class Band(NamedTuple):
    """A mean curve with a simultaneous band: it covers the true mean at all steps at once."""

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    n: int
    """Number of curves."""


def mean_band(curves: npt.ArrayLike, *, level: float, seed: int, resamples: int = 1000) -> Band:
    """Return the mean of curves over steps with a simultaneous confidence band.

    The multiplier bootstrap of max |t| (Chernozhukov et al. 2013), at least Student's t; with fewer
    than 20 curves Student's t with Bonferroni's correction. On the side towards 0 the band reaches
    as far as that of the curves and their mirrored mean, as few images may lack a kind that
    deviates to the other side (tests/simulations/curves.md).
    """
    check_resampling(level, resamples)
    rows = _rows(curves)
    mean = rows.mean(axis=0)
    low, high = _ends(rows, level, seed, resamples)
    missed = _ends(np.vstack([rows, -mean]), level, seed, resamples)
    low = np.where(mean > 0.0, np.minimum(low, missed[0]), low)
    high = np.where(mean < 0.0, np.maximum(high, missed[1]), high)
    return Band(tuple(mean.tolist()), tuple(low.tolist()), tuple(high.tolist()), level, len(rows))


def _ends(
    rows: inputs.Floats, level: float, seed: int, resamples: int
) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the ends of the simultaneous band of the mean of these curves."""
    n, mean = len(rows), rows.mean(axis=0)
    errors = rows.std(axis=0, ddof=1) / math.sqrt(n)
    student = float(scipy.stats.t.ppf((1.0 + level) / 2.0, n - 1))
    if n < FEW_CURVES:
        reach = float(scipy.stats.t.ppf(1.0 - (1.0 - level) / (2.0 * len(mean)), n - 1)) * errors
    else:
        reach = max(_largest_ratio(rows - mean, level, seed, resamples), student) * errors
    return mean - reach, mean + reach


def half_step_interval(
    curves: npt.ArrayLike, *, level: float, seed: int, resamples: int = 1000
) -> Interval | None:
    """Return the step by which half of the final sum is reached, with a bootstrap interval.

    None with fewer than ten images, and where the sign of the final sum is uncertain by the
    bootstrap or Student's t. Where one image in ten outweighs all others, a true sum of 0 has an
    interval in up to 40 % of cases with ten images (tests/simulations/curves.md).
    """
    check_resampling(level, resamples)
    rows = _rows(curves)
    n, rng = len(rows), np.random.default_rng(seed)
    if n < FEWEST_HALVES:
        return None
    means = rng.multinomial(n, [1.0 / n] * n, resamples) @ rows / n
    finals, tail = means.sum(axis=1), expanded_tail(n, level)
    estimate = half_step(rows.mean(axis=0))
    low, high = np.quantile(finals, [tail, 1.0 - tail])
    if estimate is None or low <= 0.0 <= high or not _is_off_zero(rows.sum(axis=1), level):
        return None
    halves = [half for half in map(half_step, means) if half is not None]
    ends = np.quantile(halves, [tail, 1.0 - tail])
    return Interval(
        estimate, min(float(ends[0]), estimate), max(float(ends[1]), estimate), level,
        "bootstrap", n,
    )  # fmt: skip


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


def _largest_ratio(centred: inputs.Floats, level: float, seed: int, resamples: int) -> float:
    """Return the quantile, at ``level``, of the largest |t| over all steps in the resamples."""
    n = len(centred)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(resamples, n))
    means = signs @ centred / n
    squares = (centred**2).mean(axis=0) - means**2
    ratios = np.abs(means) * math.sqrt(n - 1) / np.sqrt(np.where(squares > 0, squares, np.inf))
    return float(np.quantile(ratios.max(axis=1), level))


def _is_off_zero(sums: inputs.Floats, level: float) -> bool:
    """Tell whether Student's interval leaves 0 out: the bootstrap of few reaches it too seldom."""
    reach = float(scipy.stats.t.ppf((1.0 + level) / 2.0, len(sums) - 1)) / math.sqrt(len(sums))
    return abs(float(sums.mean())) > reach * float(sums.std(ddof=1))


def half_step(mean: npt.ArrayLike) -> float | None:
    """Return the step by which a curve's sum reaches half of its end; steps count from 1."""
    sums = np.concatenate([[0.0], np.cumsum(mean)])
    final = float(sums[-1])
    if not final:
        return None
    reached = sums / final
    step = int(np.argmax(reached >= 0.5))  # noqa: PLR2004 - a half
    before, after = float(reached[step - 1]), float(reached[step])
    return step - 1 + (0.5 - before) / (after - before)
