"""Intervals from half samples of the images (Shao and Wu 1989), where a bootstrap fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs

METHOD = "half-sample"
FEWEST_IMAGES = 4
"""Fewest images: two halves of two images, as smaller halves have no spread."""
Ends = tuple[float, float]
"""Smallest and largest possible value of a score."""


def half_sample_interval(
    estimate: float,
    score: Callable[[inputs.Floats], float],
    rows: inputs.Floats,
    ends: Ends,
    *,
    level: float,
    seed: int,
    resamples: int,
) -> Interval:
    """Return a score of images with an interval for other images of the same prompt.

    ``estimate`` is the score of all ``rows``, and ``score`` computes that of a half. Halves of the
    images are drawn without replacement; the spread of their scores estimates the standard error of
    the score of all images (delete-half jackknife), and the interval is Student's. Raises
    ValueError for fewer than 4 images.
    """
    check_enough(rows)
    halves = scores_of_halves(score, rows, seed=seed, resamples=resamples)
    return around(estimate, halves.spread, len(rows), ends, level)


class Halves(NamedTuple):
    """Scores of halves of the images, and the standard error that follows from them."""

    scores: inputs.Floats
    """Score of each half, [resamples]."""
    spread: float
    """Standard error of the score of all images."""


def check_enough(rows: inputs.Floats) -> None:
    """Raise a ValueError for fewer than 4 images."""
    if len(rows) < FEWEST_IMAGES:
        raise ValueError(
            f"features must hold at least {FEWEST_IMAGES} images, got features.shape={rows.shape}"
        )


def scores_of_halves(
    score: Callable[[inputs.Floats], float], rows: inputs.Floats, *, seed: int, resamples: int
) -> Halves:
    """Return the scores of halves of the images, drawn without replacement."""
    rng = np.random.default_rng(seed)
    halves = (rng.permutation(len(rows))[: len(rows) // 2] for _ in range(resamples))
    scores = np.array([score(rows[half]) for half in halves])
    # The delete-d jackknife scales the variance by kept / left out, which is 1 for an even number.
    kept = len(rows) // 2
    return Halves(scores, float(np.std(scores, ddof=1)) * math.sqrt(kept / (len(rows) - kept)))


def around(
    estimate: float, spread: float, n: int, ends: Ends, level: float, reported_n: int | None = None
) -> Interval:
    """Return Student's interval for n images; ``reported_n``, if given, replaces n in it."""
    reach = float(scipy.stats.t.ppf((1.0 + level) / 2.0, n - 1)) * spread
    low, high = max(ends[0], estimate - reach), min(ends[1], estimate + reach)
    return Interval(estimate, low, high, level, METHOD, n if reported_n is None else reported_n)


def at_level(known: Interval, ends: Ends, level: float) -> Interval:
    """Convert an interval from half samples to another level."""
    return around(known.estimate, spread_of(known), known.n, ends, level)


def mean_of(known: Sequence[Interval], ends: Ends, level: float) -> Interval:
    """Return the interval of the mean score of prompts with independent images.

    Its n is the number of prompts.
    """
    mean = float(np.mean([interval.estimate for interval in known]))
    spread = math.hypot(*map(spread_of, known)) / len(known)
    fewest = min(interval.n for interval in known)
    return around(mean, spread, fewest, ends, level, reported_n=len(known))


def spread_of(known: Interval) -> float:
    """Return the standard error behind an interval, from the end that was not cut off."""
    reach = max(known.high - known.estimate, known.estimate - known.low)
    return reach / float(scipy.stats.t.ppf((1.0 + known.level) / 2.0, known.n - 1))
