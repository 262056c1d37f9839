"""What counts say of the mean distance of *these* prompts from their references.

As ``fixed_words`` for the model bias score, but each prompt has a reference of its own.
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
"""Images that may have come out otherwise by chance where all counts agree: it is what keeps the
error from vanishing where a label is never or always shown."""
SHARES: inputs.Floats = np.linspace(0.0, 1.0, 201)
"""Where the expected plug-in is computed for the ceiling."""
SLOPES: inputs.Floats = np.linspace(0.0, 1.0, 101)
"""Multipliers that are tried for it; each gives a valid upper end."""


class Parts(NamedTuple):
    """Counts as shares of one label against the rest.

    Two labels are one such share; of more, each is one and counts half, as the distance is half
    of a sum over labels.
    """

    shown: Whole
    """Images with the label, [n_prompts, n_parts]."""
    n: Whole
    """Images with any label, [n_prompts]."""
    expected: inputs.Floats
    """The reference's share of the label, [n_prompts, n_parts]."""
    weight: float
    """Weight of each part in the distance: 1 or 1/2."""

    @property
    def distances(self) -> inputs.Floats:
        """Plug-in |k/n - r| of each part, [n_prompts, n_parts]."""
        return np.asarray(np.abs(self.shown / self.n[:, None] - self.expected), dtype=np.float64)

    def kinds(self) -> Iterator[tuple[int, float, inputs.Bools]]:
        """Every (images, reference's share) with the parts that have it, [n_prompts, n_parts]."""
        both = self.n[:, None] + 1j * self.expected
        kinds, place = np.unique(both, return_inverse=True)
        place = place.reshape(both.shape)
        for k, kind in enumerate(kinds):
            yield int(kind.real), float(kind.imag), place == k


def fixed_ends(parts: Parts, level: float) -> tuple[float, float]:
    """Ends of the mean distance of at least two fixed prompts.

    Means of bounding functions with their error within prompts (Student's quantile); the upper end
    is at most the ceiling that the plug-in leaves.

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
    """Largest mean distance that may be expected to show this mean plug-in.

    Lagrangian duality: min over l of l S + mean of max over p of (``|p - r|`` - l B(p)).

    >>> parts = Parts(np.array([[20]]), np.array([20]), np.array([[0.5]]), 1.0)
    >>> round(ceiling(parts, 0.25), 2)
    0.25
    """
    gains = sum((at.sum() * _gains(n, r) for n, r, at in parts.kinds()), np.zeros(len(SLOPES)))
    return float(np.min(SLOPES * mean + parts.weight * gains / len(parts.n)))


@lru_cache(maxsize=4096)
def _gains(n: int, share: float) -> inputs.Floats:
    """Largest ``|p - r| - l B(p)`` at each slope l, B being the expected plug-in."""
    k = np.arange(n + 1)
    expected = scipy.stats.binom.pmf(k, n, SHARES[:, None]) @ np.abs(k / n - share)
    gains = np.max(np.abs(SHARES - share) - SLOPES[:, None] * expected, axis=1)
    return np.asarray(gains, dtype=np.float64)


def bounding_mean(parts: Parts, side: Side) -> tuple[float, float]:
    """Mean of the bounding functions, and its standard error within prompts.

    Its expectation lies on this side of the mean distance, however the prompts differ.

    >>> parts = Parts(np.array([[10], [30]]), np.array([40, 40]), np.array([[0.5], [0.5]]), 1.0)
    >>> bounding_mean(parts, "below")[0] < bounding_mean(parts, "above")[0]
    True
    """
    value, spread = np.empty(parts.expected.shape), np.empty(parts.expected.shape)
    for n, r, at in parts.kinds():
        function, shown = bounding_distance(n, r, side), parts.shown[at]
        value[at], spread[at] = function.value[shown], function.variance[shown]
    # Labels of one image exclude each other; whatever their correlation, deviations add up at most.
    deviation = parts.weight * np.sum(np.sqrt(spread), axis=1)
    variance = float(np.mean(deviation**2)) / len(parts.n)
    mean = float(np.mean(np.sum(value, axis=1))) * parts.weight
    return mean, math.sqrt(variance + (PSEUDO / parts.n.sum()) ** 2)
