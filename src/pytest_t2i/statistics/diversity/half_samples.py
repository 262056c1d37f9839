"""Intervals of what a bootstrap spoils, by sets of half of the images (Shao and Wu 1989)."""

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
"""Two halves of two images: fewer show no spread."""
Ends = tuple[float, float]
"""The least and the most that a score can be."""


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
    """A score of images with an interval for what others of the same prompt would give.

    ``estimate`` is that of all ``rows``, ``score`` computes that of a half. Halves of the images
    are drawn without replacement; the spread of their scores is that of the whole set's score, and
    Student's t makes an interval of it. Raises ValueError for fewer than 4 images.
    """
    check_enough(rows)
    halves = scores_of_halves(score, rows, seed=seed, resamples=resamples)
    return around(estimate, halves.spread, len(rows), ends, level)


class Halves(NamedTuple):
    """What halves of the images say."""

    scores: inputs.Floats
    """Score of each half."""
    spread: float
    """Standard error of the score of all images."""


def check_enough(rows: inputs.Floats) -> None:
    """Refuse fewer than 4 images."""
    if len(rows) < FEWEST_IMAGES:
        raise ValueError(
            f"features must hold at least {FEWEST_IMAGES} images, got features.shape={rows.shape}"
        )


def scores_of_halves(
    score: Callable[[inputs.Floats], float], rows: inputs.Floats, *, seed: int, resamples: int
) -> Halves:
    """Scores of halves of the images, drawn without replacement."""
    rng = np.random.default_rng(seed)
    halves = (rng.permutation(len(rows))[: len(rows) // 2] for _ in range(resamples))
    scores = np.array([score(rows[half]) for half in halves])
    # What is left out is (n - m) / m of what is kept: 1 of an even number.
    kept = len(rows) // 2
    return Halves(scores, float(np.std(scores, ddof=1)) * math.sqrt(kept / (len(rows) - kept)))


def around(
    estimate: float, spread: float, n: int, ends: Ends, level: float, told: int | None = None
) -> Interval:
    """By Student's t of n images; ``told`` is the n that the interval has, where another."""
    reach = float(scipy.stats.t.ppf((1.0 + level) / 2.0, n - 1)) * spread
    low, high = max(ends[0], estimate - reach), min(ends[1], estimate + reach)
    return Interval(estimate, low, high, level, METHOD, n if told is None else told)


def at_level(known: Interval, ends: Ends, level: float) -> Interval:
    """An interval of half samples as it is at another level."""
    return around(known.estimate, spread_of(known), known.n, ends, level)


def mean_of(known: Sequence[Interval], ends: Ends, level: float) -> Interval:
    """The mean of several prompts' scores, whose images were drawn apart; n counts prompts."""
    mean = float(np.mean([interval.estimate for interval in known]))
    spread = math.hypot(*map(spread_of, known)) / len(known)
    fewest = min(interval.n for interval in known)
    return around(mean, spread, fewest, ends, level, told=len(known))


def spread_of(known: Interval) -> float:
    """Standard error behind an interval; an end that was cut off is not asked."""
    reach = max(known.high - known.estimate, known.estimate - known.low)
    return reach / float(scipy.stats.t.ppf((1.0 + known.level) / 2.0, known.n - 1))
