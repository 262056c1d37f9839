"""Interval of the Vendi score, by sets of half of the images."""

from __future__ import annotations

import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics.vectors import feature_rows
from pytest_t2i.metrics.vendi import vendi_score
from pytest_t2i.statistics.diversity.half_samples import at_level, half_sample_interval
from pytest_t2i.statistics.shares.intervals import check_level


def vendi_interval(
    features: npt.ArrayLike, *, level: float, seed: int, resamples: int = 200
) -> Interval:
    """Vendi score with an interval for what other images of the same prompt would give.

    By the spread between halves of the images, as ``wals_interval``: an image that a bootstrap
    draws twice is one image less. At 0.95 it holds in 0.84 to 0.97 of cases
    (``tests/simulations/instruments.md``). Images that are copies of each other are not drawn
    apart, and the interval does not know that.

    Args:
        features: one row per image, [n_images, d].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of halves.

    Returns:
        Interval of the score in [1, n_images]; n is the number of images.

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
    ends = (1.0, float(len(rows)))
    return half_sample_interval(
        vendi_score(rows), vendi_score, rows, ends, level=level, seed=seed, resamples=resamples
    )


def vendi_at_level(known: Interval, level: float) -> Interval:
    """An interval by ``vendi_interval`` as it is at another level.

    >>> known = Interval(3.0, 2.8, 3.2, 0.95, "half-sample", 40)
    >>> print(vendi_at_level(known, 0.5))
    3.000 [2.933, 3.067]
    """
    check_level(level)
    return at_level(known, (1.0, float(known.n)), level)
