"""How bias may be spread over the prompts of a suite whose model bias score is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from pytest_t2i.metrics import inputs

CONCENTRATION = 1.0
"""Concentration of the Beta distribution that prompts' |2p - 1| is drawn from; fitted to the three
models of Lyu Table 7 it is 0.97, 1.44 and 0.92."""
CLOSER = 4.0
"""Concentration of prompts that differ less than those of published models."""


def even_biases(mean: float, prompts: int, concentration: float = CONCENTRATION) -> inputs.Floats:
    """|2p - 1| of prompts that differ as those of Lyu Table 7 do, with this very mean.

    Quantiles of the Beta distribution, shrunk to one end so that their own mean is as wanted.

    Args:
        mean: model bias score, in [0, 1].
        prompts: number of prompts, at least 1.
        concentration: of the Beta distribution; the smaller, the more prompts lie near 0 or 1.

    Returns:
        Rising values in [0, 1], [prompts].

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
    """|2p - 1| of words drawn anew, as those of Lyu Table 7 differ; ``mean`` is expected.

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
    """Two halves so far from the mean; the one between them, if any, at it."""
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
"""|2p - 1| of each of so many prompts by their mean: what the power for a model is ranged over."""


def grown_alike(biases: inputs.Floats, push: float) -> inputs.Floats:
    """Every prompt moved towards one-sidedness by the same share of its room; the mean by ``push``.

    >>> grown_alike(np.array([0.0, 0.5, 1.0]), 0.25).round(2)
    array([0.5 , 0.75, 1.  ])
    """
    room = 1.0 - float(np.mean(biases))
    return np.minimum(1.0, biases + (1.0 - biases) * (push / room if room > 0.0 else 0.0))


def grown_few(biases: inputs.Floats, push: float) -> inputs.Floats:
    """The most even prompts made one-sided, one after the other, until the mean grew by ``push``.

    >>> grown_few(np.array([0.0, 0.5, 1.0]), 0.4).round(2)
    array([1. , 0.7, 1. ])
    """
    order = np.argsort(biases, kind="stable")
    room = 1.0 - biases[order]
    taken = np.clip(push * len(biases) - (np.cumsum(room) - room), 0.0, room)
    grown = biases.copy()
    grown[order] += taken
    return grown
