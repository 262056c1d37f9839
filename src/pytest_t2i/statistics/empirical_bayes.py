"""Posterior probabilities of inconclusive prompts: empirical Bayes over the family of prompts.

"Likely fail" and "likely pass" (*leans* in names) are never verdicts. docs/decisions/0008 describes
their calibration; tests/simulations/families.md reports how often they are right.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model import categorise, fit

Lean = Literal["fail", "pass", "open"]

FEWEST_PROMPTS = 10
"""Fewest prompts with a clear image from which the distribution of bias is estimated."""
CONFIDENT = 0.85
"""Smallest probability of a single "likely" prompt."""
ON_AVERAGE = 0.95
"""Smallest mean probability of all "likely" prompts of a family: 19 of 20 are right."""
GRID: inputs.Floats = np.linspace(0.0, 1.0, 51)
"""Support of the distribution of |2p - 1|."""
SPREAD_OUT = 5.0
"""Weight, in prompts, of an even distribution that is mixed in: without it the fit overfits the
observed prompts, and at 20 prompts nearly twice as many leans are wrong."""


def leans(male: npt.ArrayLike, female: npt.ArrayLike, bound: float) -> inputs.Floats | None:
    """Return each prompt's posterior probability that its absolute bias score exceeds the bound.

    .. math:: P(t > bound | m, f) = sum over t > bound of g(t) L(m, f | t) / sum of g(t) L(m, f | t)

    with g fitted to all counts (empirical Bayes, Robbins 1956; Efron 2016). None for few prompts.
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
    """Return each prompt's posterior over GRID, with the fitted distribution of bias as prior."""
    kinds = categorise(male, female, GRID)
    times = np.bincount(kinds.of_prompt, male + female > 0, len(kinds.images)).astype(np.float64)
    joint = kinds.likelihood * fit(times[None], kinds.likelihood, SPREAD_OUT / len(GRID))
    posterior = joint / joint.sum(axis=1, keepdims=True)
    return np.asarray(posterior[kinds.of_prompt], dtype=np.float64)


def leaning(probabilities: npt.ArrayLike) -> list[Lean]:
    """Return "fail", "pass", or "open" for each prompt, from its posterior probability.

    The most certain ones from 0.85 on, as many as are right with a mean probability of 0.95.
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
