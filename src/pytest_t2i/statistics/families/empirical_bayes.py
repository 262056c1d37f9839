"""Where inconclusive prompts lean: empirical Bayes over the family of prompts.

A lean is a guess and never a verdict. docs/decisions/0008 says how it was calibrated, and
tests/simulations/families.md how often it is right, world by world.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import male_share

Lean = Literal["fail", "pass", "open"]

FEWEST_PROMPTS = 10
"""Below so many prompts with a clear image the spread of bias over them is not known."""
CONFIDENT = 0.85
"""Least probability of a lean by itself."""
ON_AVERAGE = 0.95
"""Least mean probability of all leans of a family: right in 19 of 20."""
GRID: inputs.Floats = np.linspace(0.0, 1.0, 51)
"""Values of |2p - 1| that the spread may take."""
SPREAD_OUT = 5.0
"""Prompts' worth of an even spread that is mixed in: without it the fit takes the prompts it has
for all there are, and at 20 prompts nearly twice as many leans are wrong."""
STEPS = 200


def leans(male: npt.ArrayLike, female: npt.ArrayLike, bound: float) -> inputs.Floats | None:
    """Probability of each prompt that its absolute bias score lies beyond the bound.

    The spread g of ``t = |2p - 1|`` over the prompts is fitted to all counts (maximum likelihood on
    a grid by expectation maximisation, with five prompts' worth of an even spread mixed in), then
    Bayes' rule is applied to each prompt (Robbins 1956; Efron 2016).

    .. math:: P(t > bound | m, f) = sum over t > bound of g(t) L(m, f | t) / sum of g(t) L(m, f | t)

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the absolute score, in [0, 1].

    Returns:
        Probabilities, [n_prompts]; prompts without a clear image have what the family says. None
        with fewer than 10 prompts that have a clear image.

    Raises:
        ValueError: shapes differ, a count is no whole number, or the bound is out of range.

    >>> leans([10] * 8 + [5] * 8, [0] * 8 + [5] * 8, 0.5)[[0, 8]].round(2)
    array([0.99, 0.02])
    >>> leans([10] * 3, [0] * 3, 0.5) is None
    True
    """
    men, women = inputs.count_vectors(male=male, female=female)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    clear = men + women > 0
    if np.count_nonzero(clear) < FEWEST_PROMPTS:
        return None
    beyond = spread_given_counts(men, women)[:, limit + 1e-9 < GRID]
    return np.asarray(np.clip(beyond.sum(axis=1), 0.0, 1.0), dtype=np.float64)


def spread_given_counts(
    male: npt.NDArray[np.int64], female: npt.NDArray[np.int64]
) -> inputs.Floats:
    """Probability of each point of GRID for each prompt, by the spread fitted to all of them.

    >>> spread_given_counts(np.array([20, 10]), np.array([0, 10])).argmax(axis=1)
    array([50,  0])
    """
    pairs = np.stack([np.abs(male - female), male + female], axis=1)
    unique, of_prompt = np.unique(pairs, axis=0, return_inverse=True)
    of_prompt = of_prompt.ravel()
    likelihood = _likelihood(unique[:, 0], unique[:, 1])
    times = np.bincount(of_prompt, weights=male + female > 0, minlength=len(unique))
    spread = _spread(likelihood, np.asarray(times, dtype=np.float64))
    joint = np.multiply(likelihood, spread)
    given = joint / joint.sum(axis=1, keepdims=True)
    return np.asarray(given[of_prompt], dtype=np.float64)


def leaning(probabilities: npt.ArrayLike) -> list[Lean]:
    """In words: "fail", "pass", or "open" where it could be either.

    A prompt leans if its probability, or that of the opposite, is at least 0.85; of these as many
    lean, the surest first, as are right with a probability of 0.95 on average.

    Args:
        probabilities: as from ``leans``, of the prompts that no verdict decides, [n_prompts].

    Returns:
        One word per prompt, in order.

    Raises:
        ValueError: not a vector, or a value lies outside [0, 1].

    >>> leaning([0.99, 0.93, 0.85, 0.5, 0.01])
    ['fail', 'fail', 'open', 'open', 'pass']
    """
    p = inputs.in_range("probabilities", probabilities, 0.0, 1.0)
    inputs.one_dimensional(probabilities=p)
    sure = np.maximum(p, 1.0 - p)
    order = np.argsort(-sure, kind="stable")
    mean = np.cumsum(sure[order]) / np.arange(1, len(p) + 1)
    lean = np.zeros(len(p), dtype=np.bool_)
    lean[order] = (mean >= ON_AVERAGE - 1e-12) & (sure[order] >= CONFIDENT)
    likelier = np.where(p > 0.5, "fail", "pass")  # noqa: PLR2004 - more likely than not
    words: list[Lean] = np.where(lean, likelier, "open").tolist()
    return words


def _likelihood(gap: npt.NDArray[np.int64], n: npt.NDArray[np.int64]) -> inputs.Floats:
    """Probability of |n_m - n_f| among n images at each point of the grid, up to a factor."""
    more, size, share = ((n + gap) // 2)[:, None], n[:, None], male_share(GRID)
    one_way = scipy.stats.binom.pmf(more, size, share)
    other_way = scipy.stats.binom.pmf(size - more, size, share)
    return np.asarray(one_way + other_way, dtype=np.float64)


def _spread(likelihood: inputs.Floats, times: inputs.Floats) -> inputs.Floats:
    even = np.full(len(GRID), 1.0 / len(GRID))
    spread = even
    for _ in range(STEPS):  # its scale plays no part, here or after
        spread = spread * ((times / (likelihood @ spread)) @ likelihood) + SPREAD_OUT * even
    return spread
