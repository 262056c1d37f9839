"""Intervals of variety scores from half samples, where a bootstrap fails (Shao and Wu 1989)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, wals
from pytest_t2i.metrics.variety import vendi_score
from pytest_t2i.metrics.vectors import feature_rows, unit
from pytest_t2i.statistics.shares import check_level

METHOD = "half-sample"
FEWEST_IMAGES = 4
"""Fewest images: two halves of two images, as smaller halves have no spread."""


class Halves(NamedTuple):
    """Scores of halves of the images, and the standard error that follows from them."""

    scores: inputs.Floats
    """Score of each half, [resamples]."""
    spread: float
    """Standard error of the score of all images (delete-half jackknife)."""

    @classmethod
    def of(
        cls, score: Callable[[inputs.Floats], float], rows: inputs.Floats, seed: int, resamples: int
    ) -> Halves:
        """Score halves of the images, drawn without replacement."""
        if len(rows) < FEWEST_IMAGES:
            raise ValueError(
                f"features must hold at least {FEWEST_IMAGES} images, "
                f"got features.shape={rows.shape}"
            )
        rng, half = np.random.default_rng(seed), len(rows) // 2
        scores = np.array(
            [score(rows[rng.permutation(len(rows))[:half]]) for _ in range(resamples)]
        )
        # The delete-d jackknife scales the variance by kept / left out, 1 for an even number.
        scale = math.sqrt(half / (len(rows) - half))
        return cls(scores, float(np.std(scores, ddof=1)) * scale)


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


GROWTH = 2.0
"""Factor of the growth from half of the images to all. The factor is above 1, as the bias decreases
more slowly than 1 over the number of images: with many kinds of images 0.8 to 2 was needed
(tests/simulations/vendi.md)."""
KINDS = 1000.0
"""Largest number of kinds of pictures among those that no image shows: without a bound on it, no
number of images shows that a score is low."""
LIKE = 0.5
"""Squared cosine from which on two images are of one kind."""
MANY = 1.0 / 3.0
"""Score, as a share of the number of images, above which the factor doubles: nearly every image is
of a kind of its own."""


def vendi_interval(
    features: npt.ArrayLike, *, level: float, seed: int, resamples: int = 200
) -> Interval:
    """Return the Vendi score with an interval for the score of all possible images of the prompt.

    - Low end: Student's from the spread s between halves; few images have a lower score than many.
    - High end: the larger of V + 2 g + t s (V + 4 g + t s above a third of the images), g the
      growth from half of the images to all, and V^(1 - u) exp(h(u)) + g, for a kind of the largest
      share u that all may have missed, h the binary entropy; and at least H^(1 - u) 1000^u
      exp(h(u)), u the exact bound of the share of kinds that no image shows (Good 1953), 1000 of
      them at most.

    It assumes independent images (tests/simulations/vendi.md).
    """
    interval = growth_interval(features, level=level, seed=seed, resamples=resamples)
    return with_unseen(interval, unlike_images(features))


def growth_interval(
    features: npt.ArrayLike, *, level: float, seed: int, resamples: int = 200
) -> Interval:
    """Return the interval of ``vendi_interval`` for the kinds that images show."""
    check_level(level)
    rows = feature_rows("features", features)
    estimate = vendi_score(rows)
    halves = Halves.of(vendi_score, rows, seed, resamples)
    growth = max(0.0, estimate - float(np.mean(halves.scores)))
    return _around_vendi(estimate, halves.spread, growth, len(rows), level)


def unlike_images(features: npt.ArrayLike) -> float:
    """Return the number of images that are unlike all others, with squared cosines below a half."""
    rows = feature_rows("features", features)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    alike = (rows @ rows.T) ** 2
    np.fill_diagonal(alike, 0.0)
    return float(np.count_nonzero(alike.max(axis=1) < LIKE))


def with_unseen(seen: Interval, unlike: float) -> Interval:
    """Return the interval that allows for all kinds that no image shows."""
    tail = (1.0 + seen.level) / 2.0
    missed = float(scipy.stats.beta.ppf(tail, unlike + 1.0, max(seen.n - unlike, 1e-9)))
    if missed >= 1.0:
        return replace(seen, high=max(seen.high, KINDS))
    entropy = -missed * math.log(missed) - (1.0 - missed) * math.log1p(-missed)
    mixed = (1.0 - missed) * math.log(seen.high) + missed * math.log(KINDS) + entropy
    return replace(seen, high=max(seen.high, math.exp(mixed)))


def vendi_at_level(known: Interval, level: float) -> Interval:
    """Convert an interval by ``growth_interval`` to another level."""
    check_level(level)
    reach = known.estimate - known.low
    times = _times(known.estimate, known.n)
    growth = min(
        (known.high - known.estimate - reach) / times,
        known.high - _missed(known.estimate, known.n, known.level),
    )
    spread = reach / _student(known.n, known.level)
    return _around_vendi(known.estimate, spread, max(0.0, growth), known.n, level)


def _around_vendi(estimate: float, spread: float, growth: float, n: int, level: float) -> Interval:
    reach = _student(n, level) * spread
    grown = estimate + _times(estimate, n) * growth + reach
    high = max(grown, _missed(estimate, n, level) + growth)
    return Interval(estimate, max(1.0, estimate - reach), high, level, METHOD, n)


def _missed(score: float, n: int, level: float) -> float:
    """Return the score with the largest share of another kind that n images may all have missed."""
    share = 1.0 - ((1.0 - level) / 2.0) ** (1.0 / n)
    entropy = -share * math.log(share) - (1.0 - share) * math.log1p(-share)
    return float(score ** (1.0 - share) * math.exp(entropy))


def _times(score: float, n: int) -> float:
    return GROWTH if score <= MANY * n else 2.0 * GROWTH


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
    return _around(estimate, Halves.of(score, rows, seed, resamples).spread, len(rows), level)


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
