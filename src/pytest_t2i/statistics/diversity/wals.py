"""Interval of WALS from half samples of the images (OASIS eq. 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, wals
from pytest_t2i.metrics.vectors import feature_rows, unit
from pytest_t2i.statistics.diversity.half_samples import (
    METHOD,
    at_level,
    half_sample_interval,
    mean_of,
    spread_of,
)
from pytest_t2i.statistics.shares import check_level

ENDS = (0.0, 1.0)
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

    Halves of the images are drawn without replacement; the spread of their scores estimates the
    standard error of the score of all images (delete-half jackknife; Shao and Wu 1989), and the
    interval is Student's. A bootstrap fails: an image drawn twice removes one direction, which
    moves the score by more than its own spread, so that a bootstrap interval at 0.95 covers in 0.2
    to 0.7 of cases. Half samples cover in 0.92 or more where at least five images show the
    attribute and five lack it. With fewer, most halves have none of the rarer kind: an interval at
    0.95 covers in 0.85 to 0.9 of cases with two images of the rarer kind, and in 0.5 to 0.7 with
    one (``tests/simulations/instruments.md``).

    Args:
        features: one row per image, [n_images, d].
        direction: direction of change in the attribute, [d].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        rank: see ``metrics.wals``; for a half, at most its number of images.
        center: see ``metrics.wals``.
        resamples: number of halves.

    Returns:
        Interval of the score in [0, 1]; n is the number of images.

    Raises:
        ValueError: fewer than 4 images, a level outside (0, 1), or an argument that
            ``metrics.wals`` refuses.

    >>> images = np.random.default_rng(0).normal(size=(20, 5))
    >>> interval = wals_interval(images, [1, 0, 0, 0, 0], level=0.95, seed=0)
    >>> interval.low < interval.estimate < interval.high, interval.n
    (True, 20)
    """
    check_level(level)
    rows, along = feature_rows("features", features), inputs.floats("direction", direction)
    estimate = wals(rows, along, rank, center=center)
    score = partial(_wals, direction=unit("direction", along), rank=rank, center=center)
    return half_sample_interval(
        estimate, score, rows, ENDS, level=level, seed=seed, resamples=resamples
    )


def wals_at_level(known: Interval, level: float) -> Interval:
    """Convert an interval by ``wals_interval`` to another level.

    >>> known = Interval(0.2, 0.18, 0.22, 0.95, "half-sample", 40)
    >>> print(wals_at_level(known, 0.5))
    0.200 [0.193, 0.207]
    """
    check_level(level)
    return at_level(known, ENDS, level)


def mean_wals_interval(known: Sequence[Interval], level: float) -> Interval:
    """Return the interval of the mean WALS of several prompts with independent images.

    Args:
        known: interval of each prompt, by ``wals_interval``.
        level: confidence level in (0, 1).

    Returns:
        Interval of the mean; n is the number of prompts.

    Raises:
        ValueError: there is no prompt, or the level lies outside (0, 1).

    >>> one = Interval(0.2, 0.18, 0.22, 0.95, "half-sample", 40)
    >>> print(mean_wals_interval([one] * 4, 0.95))
    0.200 [0.190, 0.210]
    """
    check_level(level)
    if not known:
        raise ValueError("known must hold an interval per prompt, got known=[]")
    return mean_of(known, ENDS, level)


def wals_change_interval(pairs: Sequence[tuple[Interval, Interval]], level: float) -> Interval:
    """Return the interval of the fall of WALS between two sets of images, on average over prompts.

    All sets are assumed independent; the standard error of each is recovered from its interval.

    Args:
        pairs: intervals of the first and the second set of each prompt, by ``wals_interval``.
        level: confidence level in (0, 1).

    Returns:
        Interval of the mean of before - now, positive where variety fell; n is that of the
        smallest set.

    Raises:
        ValueError: there is no prompt, or the level lies outside (0, 1).

    >>> before = Interval(0.2, 0.18, 0.22, 0.95, "half-sample", 40)
    >>> now = Interval(0.1, 0.08, 0.12, 0.95, "half-sample", 40)
    >>> fell = wals_change_interval([(before, now)], 0.9)
    >>> round(fell.estimate, 3), round(fell.low, 3)
    (0.1, 0.076)
    """
    check_level(level)
    if not pairs:
        raise ValueError("pairs must hold two intervals per prompt, got pairs=[]")
    n = min(known.n for pair in pairs for known in pair)
    spread = math.hypot(*(spread_of(known) for pair in pairs for known in pair)) / len(pairs)
    reach = float(scipy.stats.t.ppf((1.0 + level) / 2.0, n - 1)) * spread
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
