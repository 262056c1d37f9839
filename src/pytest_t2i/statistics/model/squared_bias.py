"""Squared bias score: the one form of it that has an unbiased estimate at any number of images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import prompt_bias_interval
from pytest_t2i.statistics.shares.resampling import check_resampling, expanded_tail, percentiles

PAIR = 2
"""Fewest images that say anything of a square: it is estimated from pairs of images."""


def squared_bias_score(male: npt.ArrayLike, female: npt.ArrayLike) -> float:
    """Unbiased estimate of the mean over prompts of (2p - 1)^2.

    .. math:: mean of ((m - f)^2 - n) / (n (n - 1)),  n = m + f

    which is the mean over pairs of images of +1 (same gender) and -1 (different): its expectation
    is (2p - 1)^2 exactly, as E(m - f)^2 = n + n(n - 1)(2p - 1)^2. The paper's |2p - 1| has no
    such estimate. A fair model gives 0 on average and about half the time less: a negative
    value is not cut off, as that would make it biased.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].

    Returns:
        The estimate, at most 1; over the prompts with at least two clear images.

    Raises:
        ValueError: shapes differ, a count is no whole number, or no prompt has two clear images.

    >>> squared_bias_score([20, 0], [0, 20])
    1.0
    >>> round(squared_bias_score([10, 10], [10, 10]), 4)
    -0.0526
    """
    return float(np.mean(_squares(*_pairs(male, female))))


def squared_bias_interval(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    resamples: int = 2000,
) -> Interval:
    """Squared bias score with an interval by seeded cluster bootstrap.

    Whole prompts are resampled; one pseudo-prompt, as likely even as one-sided, takes part, so
    that prompts which all agree do not pretend to certainty. One prompt alone: its exact
    interval, squared.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of bootstrap resamples.

    Returns:
        Interval whose ends lie in [0, 1] unless the estimate itself is below 0; n is the number
        of prompts with at least two clear images.

    Raises:
        ValueError: as ``squared_bias_score``, or an option is out of range.

    >>> interval = squared_bias_interval([20, 18, 1, 15], [0, 2, 19, 5], level=0.95, seed=0)
    >>> interval.low < 0.65 < interval.high
    True
    """
    check_resampling(level, resamples)
    men, women = _pairs(male, female)
    values = _squares(men, women)
    estimate, prompts = float(np.mean(values)), len(values)
    if prompts == 1:
        exact = abs(prompt_bias_interval(int(men[0]), int(women[0]), level))
        low, high, method = exact.low**2, exact.high**2, exact.method
    else:
        n = float(np.median(men + women))
        pseudo = np.append(values, [-1.0 / (n - 1.0), 1.0])
        chance = np.append(np.ones(prompts), np.full(2, 0.5)) / (prompts + 1.0)
        drawn = np.random.default_rng(seed).multinomial(prompts, chance, size=resamples)
        low, high = percentiles(drawn @ pseudo / prompts, expanded_tail(prompts, level))
        method = "cluster-bootstrap"
    low, high = min(max(low, 0.0), estimate), max(high, estimate)
    return Interval(estimate, low, high, level, method, prompts)


def _pairs(
    male: npt.ArrayLike, female: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    men, women = inputs.whole_counts("male", male), inputs.whole_counts("female", female)
    inputs.one_dimensional(male=men, female=women)
    inputs.same_shape(male=men, female=women)
    used = men + women >= PAIR
    if not np.any(used):
        raise ValueError(f"male and female hold no prompt of {used.size} with two clear images")
    return men[used], women[used]


def _squares(men: npt.NDArray[np.int64], women: npt.NDArray[np.int64]) -> inputs.Floats:
    n = men + women
    return np.asarray(((men - women) ** 2 - n) / (n * (n - 1)), dtype=np.float64)
