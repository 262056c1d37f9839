"""Power to find one biased prompt in a family whose other prompts are fair."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.bounding import rarer_chances
from pytest_t2i.statistics.families.false_discovery import (
    CARRIED,
    COUNTED_ABOVE,
    DISCARDED_ABOVE,
    ROUNDING,
)
from pytest_t2i.statistics.families.p_values import FEW_PROMPTS
from pytest_t2i.statistics.shares import p_values_of_counts

FAMILIES = 1000
"""Number of simulated families."""


@lru_cache(maxsize=8192)
def lone_chances(
    n: int, bound: float, level: float, prompts: int = 1, seed: int = 0
) -> inputs.Floats:
    """Return the probability that a prompt FAILs among fair ones, by its rarer gender's images.

    The other prompts' images are drawn from a fair model, and all are judged together as by
    ``family_p_values``. The function assumes equal numbers of images, where the rule of the family
    is a matter of counting: an attainable threshold x is valid if x m_0 / (1 + others at or below
    x) is at most 1 - level.

    Args:
        n: number of clear images of each prompt, at least 1.
        bound: limit of the absolute score, in [0, 1].
        level: confidence level in (0, 1).
        prompts: number of prompts that are judged together, with this one, at least 1.
        seed: seed of the simulated families.

    Returns:
        Probabilities by the number of images of the rarer gender, [n // 2 + 1].

    >>> lone_chances(20, 0.5, 0.95)[:3]
    array([1., 1., 0.])
    >>> lone_chances(20, 0.5, 0.95, prompts=100)[:2].round(2)
    array([0.82, 0.  ])
    """
    # p-values increase with the images of the rarer gender.
    p = p_values_of_counts(n, bound, "beyond")[: n // 2 + 1]
    others = _others(n, prompts - 1, seed)
    error = 1.0 - level + ROUNDING
    if prompts < FEW_PROMPTS:
        paid, can = np.full(len(others), float(prompts)), np.ones(len(p), dtype=np.bool_)
    else:
        kept = p <= DISCARDED_ABOVE + ROUNDING
        if not np.any(kept) or p[0] > error:
            return np.zeros(len(p))
        p = p / p[kept][-1]
        small = kept & (p <= COUNTED_ABOVE + ROUNDING)
        if not np.any(small):
            return np.zeros(len(p))
        counted = others[:, np.count_nonzero(kept) - 1] - others[:, np.count_nonzero(small) - 1]
        paid = (1.0 + counted) / (1.0 - p[small][-1])
        can = small & (p_values_of_counts(n, bound, "beyond")[: len(p)] <= CARRIED * error)
    holds = can & (p * paid[:, None] <= error * (1.0 + others))
    # A prompt is found where a threshold at its own p-value or above is valid.
    found = np.logical_or.accumulate(holds[:, ::-1], axis=1)[:, ::-1] & can
    return np.asarray(found.mean(axis=0), dtype=np.float64)


@lru_cache(maxsize=256)
def _others(n: int, prompts: int, seed: int) -> inputs.Floats:
    """Count the others with at most so many images of the rarer gender, [families, n // 2 + 1]."""
    chances = rarer_chances(n, np.zeros(1))[0]
    drawn = np.random.default_rng(seed).multinomial(prompts, chances / chances.sum(), size=FAMILIES)
    return np.asarray(np.cumsum(drawn, axis=1), dtype=np.float64)
