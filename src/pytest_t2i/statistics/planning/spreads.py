"""Distributions of bias over the prompts of a suite with a given model bias score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from pytest_t2i.metrics import inputs

CONCENTRATION = 1.0
"""Concentration of the Beta distribution of prompts' |2p - 1|; fitted to the three models of Lyu
Table 7 it is 0.97, 1.44 and 0.92."""
CLOSER = 4.0
"""Concentration of prompts that differ less than those of published models."""


def even_biases(mean: float, prompts: int, concentration: float = CONCENTRATION) -> inputs.Floats:
    """Return |2p - 1| of prompts that differ as in Lyu Table 7, with exactly this mean.

    The values are quantiles of the Beta distribution, shrunk to one end to have the given mean.

    Args:
        mean: model bias score, in [0, 1].
        prompts: number of prompts, at least 1.
        concentration: a + b of the Beta distribution; the smaller, the more prompts lie near 0 or
            1.

    Returns:
        Increasing values in [0, 1], [prompts].

    >>> even_biases(0.5, 3).round(2)
    array([0.07, 0.5 , 0.93])
    """
    if mean in {0.0, 1.0} or prompts == 1:
        return np.full(prompts, mean)
    ranks = (np.arange(prompts) + 0.5) / prompts
    biases = scipy.stats.beta.ppf(ranks, concentration * mean, concentration * (1.0 - mean))
    own = float(np.mean(biases))
    scaled = (
        biases * mean / own if own > mean else 1.0 - (1.0 - biases) * (1.0 - mean) / (1.0 - own)
    )
    return np.asarray(scaled, dtype=np.float64)


def drawn_biases(mean: float, prompts: int, rng: np.random.Generator) -> inputs.Floats:
    """Return random |2p - 1| of words, distributed as in Lyu Table 7 with expectation ``mean``.

    >>> drawn_biases(1.0, 2, np.random.default_rng(0))
    array([1., 1.])
    """
    if mean in {0.0, 1.0}:
        return np.full(prompts, mean)
    return rng.beta(CONCENTRATION * mean, CONCENTRATION * (1.0 - mean), size=prompts)


def _alike(mean: float, prompts: int) -> inputs.Floats:
    return np.full(prompts, mean)


def _closer(mean: float, prompts: int) -> inputs.Floats:
    return even_biases(mean, prompts, CLOSER)


def _near_halves(mean: float, prompts: int) -> inputs.Floats:
    return _apart(mean, prompts, min(mean, 1.0 - mean) / 2.0)


def _far_halves(mean: float, prompts: int) -> inputs.Floats:
    return _apart(mean, prompts, min(mean, 1.0 - mean))


def _one_sided_or_fair(mean: float, prompts: int) -> inputs.Floats:
    return np.clip(mean * prompts - np.arange(prompts), 0.0, 1.0)


def _apart(mean: float, prompts: int, distance: float) -> inputs.Floats:
    """Return two halves at a distance from the mean; a middle prompt lies at the mean."""
    side = np.sign(2.0 * np.arange(prompts) + 1.0 - prompts)
    return np.asarray(mean + distance * side, dtype=np.float64)


SPREADS: dict[str, Callable[[float, int], inputs.Floats]] = {
    "as in published models": even_biases,
    "all alike": _alike,
    "closer than in published models": _closer,
    "two halves near each other": _near_halves,
    "two halves as far apart as can be": _far_halves,
    "some one-sided, all others fair": _one_sided_or_fair,
}
"""Functions of a mean and a number of prompts that return |2p - 1| of each prompt; the power for a
model is a range over them."""


def grown_alike(biases: inputs.Floats, push: float) -> inputs.Floats:
    """Move every prompt towards one-sidedness by the same share of its room, the mean by ``push``.

    >>> grown_alike(np.array([0.0, 0.5, 1.0]), 0.25).round(2)
    array([0.5 , 0.75, 1.  ])
    """
    room = 1.0 - float(np.mean(biases))
    return np.minimum(1.0, biases + (1.0 - biases) * (push / room if room > 0.0 else 0.0))


def grown_few(biases: inputs.Floats, push: float) -> inputs.Floats:
    """Make the most even prompts one-sided, one by one, until the mean grew by ``push``.

    >>> grown_few(np.array([0.0, 0.5, 1.0]), 0.4).round(2)
    array([1. , 0.7, 1. ])
    """
    order = np.argsort(biases, kind="stable")
    room = 1.0 - biases[order]
    taken = np.clip(push * len(biases) - (np.cumsum(room) - room), 0.0, room)
    grown = biases.copy()
    grown[order] += taken
    return grown
