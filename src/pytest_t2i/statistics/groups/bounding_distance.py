"""Functions of a prompt's counts that bound |p - r|, its distance from a reference share r.

This module generalises ``model.bounding``, which bounds |2p - 1|: twice the distance from r = 1/2.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model.bounding import QUANTILE, SMOOTH, Bounding, Side, quadratic_program

PROGRAM = 60
"""Most images that a program is solved for; above, bounds in closed form are close enough."""
SUITE = 100
"""Number of prompts for which the variance is weighed."""


@lru_cache(maxsize=4096)
def bounding_distance(n: int, share: float, side: Side) -> Bounding:
    """Return a function c of the images k with a label, with E c <= |p - r| or E c >= |p - r|.

    Up to 60 images it is the solution of a quadratic program. Above, with s = |k/n - r| and f its
    expectation at p = r, it is s itself from above (Jensen), and ``(s - f) m / (m - f)`` with m =
    max(r, 1 - r) from below, as the expected s is convex in p and lies below its chords.

    Args:
        n: number of images of the prompt, at least 1.
        share: the reference share r, in [0, 1].
        side: side of the distance on which the expectation stays, "below" or "above".

    Returns:
        c and an upper bound of its variance, by number of images with the label, [n + 1].

    >>> bounding_distance(2, 0.5, "below").value.round(2)
    array([ 0.5, -0.5,  0.5])
    """
    shares = _shares(n, share)
    chances = np.asarray(
        scipy.stats.binom.pmf(np.arange(n + 1), n, shares[:, None]), dtype=np.float64
    )
    target = np.abs(shares - share)
    if n <= PROGRAM:
        value = quadratic_program(chances, target, side, QUANTILE * 2.0 * np.sqrt(n / SUITE))
    else:
        value = _closed(n, share, side)
    expected = chances @ value
    error = float(np.max((expected - target) if side == "below" else (target - expected)))
    value += max(0.0, error) * (-1.0 if side == "below" else 1.0)
    return Bounding(value, _variance(n, value, shares, chances))


def _shares(n: int, share: float) -> inputs.Floats:
    """Return values of p, finer towards 0 and 1, with the reference among them."""
    angles = np.linspace(0.0, np.pi / 2.0, int(8 * (8 + 2.5 * np.sqrt(n))))
    return np.unique(np.append(np.sin(angles) ** 2, share))


def _closed(n: int, share: float, side: Side) -> inputs.Floats:
    distances = np.abs(np.arange(n + 1) / n - share)
    if side == "above":
        return np.asarray(distances, dtype=np.float64)
    floor = float(scipy.stats.binom.pmf(np.arange(n + 1), n, share) @ distances)
    furthest = max(share, 1.0 - share)
    # Without the constant: the caller shifts the function to lie below the truth.
    return np.asarray(distances * furthest / (furthest - floor), dtype=np.float64)


def _variance(
    n: int, value: inputs.Floats, shares: inputs.Floats, chances: inputs.Floats
) -> inputs.Floats:
    spread = np.maximum(chances @ value**2 - (chances @ value) ** 2, 0.0)
    if n <= PROGRAM:
        result = quadratic_program(chances, spread * n, "above", SMOOTH) / n
    else:
        result = np.interp((np.arange(n + 1) + 0.5) / (n + 1.0), shares, spread)
    result = np.maximum(result, 0.0)
    return np.asarray(result + max(0.0, float(np.max(spread - chances @ result))), dtype=np.float64)
