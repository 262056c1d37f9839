"""Inference on the mean distance of *these* prompts from their references.

This module generalises ``fixed_words`` for the model bias score: each prompt has a reference of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.groups.bounding_distance import bounding_distance
from pytest_t2i.statistics.model.bounding import Side
from pytest_t2i.statistics.model.deconvolution import Whole

PSEUDO = 3.0
"""Number of images that might differ by chance where all counts agree: the standard error then
stays positive where a label is never or always shown."""
SHARES: inputs.Floats = np.linspace(0.0, 1.0, 201)
"""Shares at which the expected plug-in is computed for the ceiling."""
SLOPES: inputs.Floats = np.linspace(0.0, 1.0, 101)
"""Lagrange multipliers that are tried for the ceiling; each gives a valid upper end."""


class Parts(NamedTuple):
    """The counts as shares of one label against the rest.

    Two labels have one such share. Of more labels each has one, with weight 1/2, as the distance is
    half of a sum over labels.
    """

    shown: Whole
    """Number of images with the label, [n_prompts, n_parts]."""
    n: Whole
    """Number of images with any label, [n_prompts]."""
    expected: inputs.Floats
    """Share of the label in the reference, [n_prompts, n_parts]."""
    weight: float
    """Weight of each part in the distance: 1 or 1/2."""

    @property
    def distances(self) -> inputs.Floats:
        """Plug-in |k/n - r| of each part, [n_prompts, n_parts]."""
        return np.asarray(np.abs(self.shown / self.n[:, None] - self.expected), dtype=np.float64)

    def kinds(self) -> Iterator[tuple[int, float, inputs.Bools]]:
        """Yield every (number of images, reference share) with the parts that have it.

        The parts are a mask, [n_prompts, n_parts].
        """
        both = self.n[:, None] + 1j * self.expected
        kinds, place = np.unique(both, return_inverse=True)
        place = place.reshape(both.shape)
        for k, kind in enumerate(kinds):
            yield int(kind.real), float(kind.imag), place == k


def fixed_ends(parts: Parts, level: float) -> tuple[float, float]:
    """Return the ends of the mean distance of at least two fixed prompts.

    They are means of bounding functions, minus and plus Student's quantile times the standard error
    within prompts; the upper end is at most the ceiling that follows from the plug-in. They hold
    approximately.

    Args:
        parts: counts and references.
        level: confidence level in (0, 1).

    Returns:
        Both ends, in [0, 1].

    >>> parts = Parts(np.array([[10], [30]]), np.array([40, 40]), np.array([[0.5], [0.5]]), 1.0)
    >>> low, high = fixed_ends(parts, 0.95)
    >>> low < 0.25 < high
    True
    """
    student = float(scipy.stats.t.ppf((1.0 + level) / 2.0, parts.n.sum() - len(parts.n)))
    low, low_error = bounding_mean(parts, "below")
    high, high_error = bounding_mean(parts, "above")
    plug_in = float(np.mean(np.sum(parts.distances, axis=1)) * parts.weight)
    top = ceiling(parts, plug_in + student * high_error)
    return max(0.0, low - student * low_error), min(1.0, high + student * high_error, top)


def ceiling(parts: Parts, mean: float) -> float:
    """Return the largest mean distance whose expected plug-in is at most the given mean.

    By Lagrangian duality it is min over l of l S + mean of max over p of (``|p - r|`` - l B(p)).

    >>> parts = Parts(np.array([[20]]), np.array([20]), np.array([[0.5]]), 1.0)
    >>> round(ceiling(parts, 0.25), 2)
    0.25
    """
    gains = sum((at.sum() * _gains(n, r) for n, r, at in parts.kinds()), np.zeros(len(SLOPES)))
    return float(np.min(SLOPES * mean + parts.weight * gains / len(parts.n)))


@lru_cache(maxsize=4096)
def _gains(n: int, share: float) -> inputs.Floats:
    """Return the largest ``|p - r| - l B(p)`` at each slope l, with B the expected plug-in."""
    k = np.arange(n + 1)
    expected = scipy.stats.binom.pmf(k, n, SHARES[:, None]) @ np.abs(k / n - share)
    gains = np.max(np.abs(SHARES - share) - SLOPES[:, None] * expected, axis=1)
    return np.asarray(gains, dtype=np.float64)


def bounding_mean(parts: Parts, side: Side) -> tuple[float, float]:
    """Return the mean of the bounding functions, and its standard error within prompts.

    The expectation lies on this side of the mean distance for any prompts.

    >>> parts = Parts(np.array([[10], [30]]), np.array([40, 40]), np.array([[0.5], [0.5]]), 1.0)
    >>> bounding_mean(parts, "below")[0] < bounding_mean(parts, "above")[0]
    True
    """
    value, spread = np.empty(parts.expected.shape), np.empty(parts.expected.shape)
    for n, r, at in parts.kinds():
        function, shown = bounding_distance(n, r, side), parts.shown[at]
        value[at], spread[at] = function.value[shown], function.variance[shown]
    # Labels exclude each other; for any correlation, the deviation of a sum is at most their sum.
    deviation = parts.weight * np.sum(np.sqrt(spread), axis=1)
    variance = float(np.mean(deviation**2)) / len(parts.n)
    mean = float(np.mean(np.sum(value, axis=1))) * parts.weight
    return mean, math.sqrt(variance + (PSEUDO / parts.n.sum()) ** 2)
