"""Interval of the Vendi score: by halves of the images below, by what they may have missed above.

Few images show less than there is. Half as many as there are show by how much the score still grows
with their number, and kinds that no image is of may still make up a share of what would come.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics.vectors import feature_rows
from pytest_t2i.metrics.vendi import vendi_score
from pytest_t2i.statistics.diversity.half_samples import METHOD, check_enough, scores_of_halves
from pytest_t2i.statistics.shares.intervals import check_level

GROWTH = 2.0
"""How often the growth from half of the images to all is added: the bias falls more slowly than 1
over their number, for which once would do. It took 0.8 to 2 times in worlds of many kinds of
images (tests/simulations/vendi.md)."""
MANY = 1.0 / 3.0
"""Score, as a share of the images, above which growth is counted twice as often: nearly every image
is of a kind of its own."""


def vendi_interval(
    features: npt.ArrayLike, *, level: float, seed: int, resamples: int = 200
) -> Interval:
    """Vendi score with an interval for that of all images that the prompt would give.

    - Low end: as ``wals_interval``, by the spread s between halves of the images. Few images have a
      lower score than many, so it holds for as many images and for all.
    - High end: the larger of two. The growth g from half of the images to all goes on, twice:
      V + 2 g + t s (four times where V is above a third of the images). Or a kind was missed: of
      what would come a share u = 1 - ((1 - level) / 2)^(1 / n) may be unlike all n images, which
      makes V^(1 - u) exp(h(u)) + g, h the entropy of a share.

    At 0.9 an end misses in at most 5 % of cases, but where many kinds are ever rarer in 24 % at ten
    images and 8 % at twenty (``tests/simulations/vendi.md``). Images that are
    copies of each other are not drawn apart, and the interval does not know that.

    Args:
        features: one row per image, [n_images, d].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of halves.

    Returns:
        Interval of the score, at least 1; its high end may exceed the number of images. n is the
        number of images, the estimate their own score.

    Raises:
        ValueError: fewer than 4 images, or what ``metrics.vendi_score`` refuses.

    >>> import numpy as np
    >>> images = np.random.default_rng(0).normal(size=(20, 5))
    >>> interval = vendi_interval(images, level=0.95, seed=0)
    >>> interval.low < interval.estimate < interval.high, interval.n
    (True, 20)
    """
    check_level(level)
    rows = feature_rows("features", features)
    estimate = vendi_score(rows)
    check_enough(rows)
    halves = scores_of_halves(vendi_score, rows, seed=seed, resamples=resamples)
    growth = max(0.0, estimate - float(np.mean(halves.scores)))
    return _interval(estimate, halves.spread, growth, len(rows), level)


def vendi_at_level(known: Interval, level: float) -> Interval:
    """An interval by ``vendi_interval`` as it is at another level.

    Spread and growth are read off its ends. A low end that was cut off at 1 tells only the least
    that the spread may be; the growth then stands for the rest.

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
    """The score with as large a share of another kind as n images may all have missed."""
    share = 1.0 - ((1.0 - level) / 2.0) ** (1.0 / n)
    entropy = -share * math.log(share) - (1.0 - share) * math.log1p(-share)
    return float(score ** (1.0 - share) * math.exp(entropy))


def _times(score: float, n: int) -> float:
    return GROWTH if score <= MANY * n else 2.0 * GROWTH


def _student(n: int, level: float) -> float:
    return float(scipy.stats.t.ppf((1.0 + level) / 2.0, n - 1))
