"""Intervals of WALS from half samples, where a bootstrap fails (Shao and Wu 1989)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, wals
from pytest_t2i.metrics.vectors import feature_rows, unit
from pytest_t2i.statistics.shares import check_level

METHOD = "half-sample"
FEWEST_IMAGES = 4
"""Fewest images: two halves of two images, as smaller halves have no spread."""


def _spread_of_halves(
    score: Callable[[inputs.Floats], float], rows: inputs.Floats, seed: int, resamples: int
) -> float:
    """Return the standard error of the score of all images, by the delete-half jackknife."""
    if len(rows) < FEWEST_IMAGES:
        raise ValueError(
            f"features must hold at least {FEWEST_IMAGES} images, got features.shape={rows.shape}"
        )
    rng, half = np.random.default_rng(seed), len(rows) // 2
    scores = np.array([score(rows[rng.permutation(len(rows))[:half]]) for _ in range(resamples)])
    # The delete-d jackknife scales the variance by kept / left out, 1 for an even number.
    return float(np.std(scores, ddof=1)) * math.sqrt(half / (len(rows) - half))


def _around(
    estimate: float, spread: float, n: int, level: float, reported_n: int | None = None
) -> Interval:
    """Return Student's interval of a share for n images; ``reported_n`` replaces n in it."""
    reach = _student(n, level) * spread
    low, high = max(0.0, estimate - reach), min(1.0, estimate + reach)
    return Interval(estimate, low, high, level, METHOD, n if reported_n is None else reported_n)


def _spread_of(interval: Interval) -> float:
    """Return the standard error behind an interval, from the end that was not cut off."""
    reach = max(interval.high - interval.estimate, interval.estimate - interval.low)
    return reach / _student(interval.n, interval.level)


def _student(n: int, level: float) -> float:
    return float(scipy.stats.t.ppf((1.0 + level) / 2.0, n - 1))


FEWEST_OF_EACH = 5
"""Fewest images that show an attribute, and that lack it, for the interval to hold its level."""


def wals_interval(
    features: npt.ArrayLike,
    direction: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    rank: int | None = None,
    center: bool = False,
    resamples: int = 200,
) -> Interval:
    """Return WALS with an interval for as many other images of the same prompt.

    Student's, with the delete-half jackknife (Shao and Wu 1989): a bootstrap fails, as an image
    drawn twice removes a direction. It holds with five images that show the attribute and five
    that lack it (tests/simulations/instruments.md).
    """
    check_level(level)
    rows, along = feature_rows("features", features), inputs.floats("direction", direction)
    estimate = wals(rows, along, rank, center=center)
    score = partial(_wals, direction=unit("direction", along), rank=rank, center=center)
    return _around(estimate, _spread_of_halves(score, rows, seed, resamples), len(rows), level)


def wals_at_level(known: Interval, level: float) -> Interval:
    """Convert an interval by ``wals_interval`` to another level."""
    check_level(level)
    return _around(known.estimate, _spread_of(known), known.n, level)


def mean_wals_interval(known: Sequence[Interval], level: float) -> Interval:
    """Return the interval of the mean WALS of several prompts with independent images."""
    check_level(level)
    if not known:
        raise ValueError("known must hold an interval per prompt, got known=[]")
    mean = float(np.mean([interval.estimate for interval in known]))
    spread = math.hypot(*map(_spread_of, known)) / len(known)
    return _around(mean, spread, min(interval.n for interval in known), level, len(known))


def wals_change_interval(pairs: Sequence[tuple[Interval, Interval]], level: float) -> Interval:
    """Return the mean fall of WALS between independent sets of images, over prompts."""
    check_level(level)
    if not pairs:
        raise ValueError("pairs must hold two intervals per prompt, got pairs=[]")
    n = min(interval.n for pair in pairs for interval in pair)
    spread = math.hypot(*(_spread_of(interval) for pair in pairs for interval in pair)) / len(pairs)
    reach = _student(n, level) * spread
    fell = float(np.mean([before.estimate - now.estimate for before, now in pairs]))
    return Interval(fell, fell - reach, fell + reach, level, METHOD, n)


def _wals(
    rows: inputs.Floats, direction: inputs.Floats, rank: int | None, *, center: bool
) -> float:
    """Return WALS from the smaller Gram matrix, many times faster than by singular vectors."""
    if center:
        rows = rows - rows.mean(axis=0)
    is_wide = rows.shape[0] < rows.shape[1]
    squares, vectors = np.linalg.eigh(rows @ rows.T if is_wide else rows.T @ rows)
    values = np.sqrt(np.maximum(squares[::-1][:rank], 0.0))
    total = float(np.sum(values))
    if not total:
        return 0.0
    vectors = vectors[:, ::-1][:, :rank]
    # With X = V S U^T, s_i (d . u_i) is v_i . X d.
    along = rows @ direction @ vectors if is_wide else values * (direction @ vectors)
    return float(np.sum(np.abs(along)) / total)
