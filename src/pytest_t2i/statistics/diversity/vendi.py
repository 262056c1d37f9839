"""Interval of the Vendi score: the low end from half samples, the high end from unseen variety.

The score of few images is biased downwards. The growth from half of the images to all of them shows
how much the score still grows with their number, and kinds that no image shows may still make up a
share of further images.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics.vectors import feature_rows
from pytest_t2i.metrics.vendi import vendi_score
from pytest_t2i.statistics.diversity.half_samples import METHOD, check_enough, scores_of_halves
from pytest_t2i.statistics.shares import check_level

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

    - Low end: as in ``wals_interval``, from the spread s between halves of the images. Few images
      have a lower score than many, so this end holds for any number of images.
    - High end: the larger of two values. The first extrapolates the growth g from half of the
      images to all: V + 2 g + t s (V + 4 g + t s where V is above a third of the images). The
      second allows for an unseen kind: a share u = 1 - ((1 - level) / 2)^(1 / n) of further images
      may be unlike all n images, which gives V^(1 - u) exp(h(u)) + g, with h the binary entropy.

    - Then the kinds that no image shows: their share of further images is at most u, the exact
      upper bound of the share of images that are unlike all others (Good 1953), and they may be
      1000 kinds with nothing in common: the high end is at least H^(1 - u) 1000^u exp(h(u)).

    Growth alone failed scores equal to the limit in 27 to 100 % of cases where kinds have nothing
    in common and many are rare; with the last step no world tried misses in more than 5 %
    (``tests/simulations/vendi.md``). The price is a high upper end: forty images of one kind have
    one of 2.1 or more. The interval assumes independent images; copies of one image violate this.

    Args:
        features: one row per image, [n_images, d].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of halves.

    Returns:
        Interval of the score, at least 1; the high end may exceed the number of images. n is the
        number of images, and the estimate is their own score.

    Raises:
        ValueError: fewer than 4 images, a level outside (0, 1), or features that
            ``metrics.vendi_score`` refuses.

    >>> import numpy as np
    >>> images = np.random.default_rng(0).normal(size=(20, 5))
    >>> interval = vendi_interval(images, level=0.95, seed=0)
    >>> interval.low < interval.estimate < interval.high, interval.n
    (True, 20)
    """
    seen = growth_interval(features, level=level, seed=seed, resamples=resamples)
    return with_unseen(seen, unlike_images(features))


def growth_interval(
    features: npt.ArrayLike, *, level: float, seed: int, resamples: int = 200
) -> Interval:
    """Return the interval of ``vendi_interval`` for the kinds that images show."""
    check_level(level)
    rows = feature_rows("features", features)
    estimate = vendi_score(rows)
    check_enough(rows)
    halves = scores_of_halves(vendi_score, rows, seed=seed, resamples=resamples)
    growth = max(0.0, estimate - float(np.mean(halves.scores)))
    return _interval(estimate, halves.spread, growth, len(rows), level)


def unlike_images(features: npt.ArrayLike) -> float:
    """Return the number of images that are unlike all others, with squared cosines below a half.

    >>> unlike_images([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    1.0
    """
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
    """Convert an interval by ``growth_interval`` to another level.

    The high end of one by ``vendi_interval`` is taken for growth, which is no lower. Spread and
    growth are recovered from its ends. A low end that was cut off at 1 gives a lower bound of the
    spread only; the growth then takes up the rest.

    >>> known = Interval(3.0, 2.8, 4.2, 0.95, "half-sample", 40)
    >>> print(vendi_at_level(known, 0.5))
    3.000 [2.933, 4.067]
    """
    check_level(level)
    reach = known.estimate - known.low
    times = _times(known.estimate, known.n)
    growth = min(
        (known.high - known.estimate - reach) / times,
        known.high - _missed(known.estimate, known.n, known.level),
    )
    spread = reach / _student(known.n, known.level)
    return _interval(known.estimate, spread, max(0.0, growth), known.n, level)


def _interval(estimate: float, spread: float, growth: float, n: int, level: float) -> Interval:
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
