"""Functions of a prompt's counts whose expectation stays on one side of the prompt's true bias.

|2p - 1| has no unbiased estimator, as it has a corner at p = 1/2, nor has |p - r|, the distance
from a reference share r. But there are functions of the counts with E c_lo <= |2p - 1| <= E c_hi
for every p: their means over prompts bound the score of a model for any distribution of bias over
the prompts (docs/decisions/0007). Among all such functions the chosen ones have the least mean
distance from the truth and the least variance: a quadratic program for each number of images.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares import check_choice

Side = Literal["below", "above"]

PROGRAM = 100
"""Most images that a program is solved for; above, the solution at 100 is stretched."""
DISTANCE_PROGRAM = 60
"""The same for a distance; above, bounds in closed form are close enough."""
SUITES: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000, 3000)
"""Numbers of prompts that functions are computed for: with more prompts, each may have more
variance."""
DISTANCE_SUITE = 100
"""Number of prompts for which the variance of a distance is weighed."""
MISFIT = 2.0
"""Weight of the squared distance against the distance itself."""
SMOOTH = 0.1
"""Weight of the variance of a variance bound against its distance from the variance."""
QUANTILE = 1.6449
"""Normal quantile of a one-sided error of 5 %, the usual one of an end; it weighs the variance."""


class Bounding(NamedTuple):
    """A bounding function c of the counts of n images, and an upper bound of its variance.

    The counts enter by the images of the rarer gender, 0 to n // 2, or of one label, 0 to n.
    """

    value: inputs.Floats
    variance: inputs.Floats
    """Values of v, with E v >= Var c for every p."""


def bounding_function(n: int, prompts: int, side: Side) -> Bounding:
    """Return c with E c <= |2p - 1|, or E c >= |2p - 1|, for every p, for a suite of prompts."""
    if n < 1 or prompts < 1:
        raise ValueError(f"n and prompts must be at least 1, got n={n!r}, prompts={prompts!r}")
    check_choice("side", side, ("below", "above"))
    return _solved(n, min(SUITES, key=lambda size: abs(np.log(size / prompts))), side)


@lru_cache(maxsize=4096)
def bounding_distance(n: int, share: float, side: Side) -> Bounding:
    """Return a function c of the images k with a label, with E c <= |p - r| or E c >= |p - r|.

    Up to 60 images by a quadratic program. Above, with s = |k/n - r| and f = E s at p = r, it is s
    from above (Jensen), and ``(s - f) m / (m - f)``, m = max(r, 1 - r), from below: E s is convex.
    """
    angles = np.linspace(0.0, np.pi / 2.0, int(8 * (8 + 2.5 * np.sqrt(n))))
    shares = np.unique(np.append(np.sin(angles) ** 2, share))
    counts, target = np.arange(n + 1), np.abs(shares - share)
    chances = np.asarray(scipy.stats.binom.pmf(counts, n, shares[:, None]), dtype=np.float64)
    if n <= DISTANCE_PROGRAM:
        penalty = QUANTILE * 2.0 * np.sqrt(n / DISTANCE_SUITE)
        value = _program(chances, target, side, penalty)
    else:
        value = np.abs(counts / n - share)
        if side == "below":  # without the constant, as the function is shifted below the truth
            floor = float(scipy.stats.binom.pmf(counts, n, share) @ value)
            furthest = max(share, 1.0 - share)
            value = value * furthest / (furthest - floor)
    value = _shifted(value, target, chances, side)
    spread = _spread(value, chances)
    if n <= DISTANCE_PROGRAM:
        variance = _program(chances, spread * n, "above", SMOOTH) / n
    else:
        variance = np.interp((counts + 0.5) / (n + 1.0), shares, spread)
    return Bounding(value, _shifted(np.maximum(variance, 0.0), spread, chances, "above"))


def rarer_chances(n: int, bias: inputs.Floats) -> inputs.Floats:
    """Return the chances of the rarer gender's images at each |2p - 1|, [n_bias, n // 2 + 1]."""
    rarer = np.arange(n // 2 + 1)
    less = scipy.stats.binom.pmf(rarer, n, (1.0 - bias[:, None]) / 2.0)
    more = scipy.stats.binom.pmf(n - rarer, n, (1.0 - bias[:, None]) / 2.0)
    return np.asarray(less + np.where(2 * rarer == n, 0.0, more), dtype=np.float64)


def _scores(n: int) -> inputs.Floats:
    """Return |n_m - n_f| / n by images of the rarer gender."""
    return np.asarray(1.0 - 2.0 * np.arange(n // 2 + 1) / n, dtype=np.float64)


def _biases(n: int, fineness: int) -> inputs.Floats:
    """Return a grid of |2p - 1|: denser towards 1, and denser with more images."""
    points = int(fineness * (8 + 2.5 * np.sqrt(n)))
    return np.asarray(np.sin(np.linspace(0.0, np.pi / 2.0, points)), dtype=np.float64)


@lru_cache(maxsize=2048)
def _solved(n: int, prompts: int, side: Side) -> Bounding:
    near = None if n <= PROGRAM else _solved(PROGRAM, prompts, side)
    if near is None:
        bias = _biases(n, 4)
        penalty = QUANTILE * np.sqrt(n / prompts)
        value = _program(rarer_chances(n, bias), bias, side, penalty)
    else:
        # Close to p = 1/2, binomial counts have one shape at every n in units of 1/sqrt(n).
        score, grid, shrink = _scores(PROGRAM), _scores(n), np.sqrt(PROGRAM / n)
        correction = (near.value - score)[::-1]
        value = grid + shrink * np.interp(grid / shrink, score[::-1], correction)
    bias = _biases(n, 12 if near is None else 2)
    chances = rarer_chances(n, bias)
    value = _shifted(value, bias, chances, side)
    return Bounding(value, _variance(n, value, chances, near and near.variance))


def _variance(
    n: int, value: inputs.Floats, chances: inputs.Floats, near: inputs.Floats | None
) -> inputs.Floats:
    """Return v with E v >= Var c for every p; ``near`` is the v of PROGRAM images."""
    spread = _spread(value, chances)
    if near is None:
        variance = _program(chances, spread * n, "above", SMOOTH) / n
    else:
        score, grid = _scores(PROGRAM), _scores(n)
        excess = (near * PROGRAM - (1.0 - score**2))[::-1]
        stretched = np.interp(grid * np.sqrt(n / PROGRAM), score[::-1], excess)
        variance = (1.0 - grid**2 + stretched) / n
    return _shifted(np.maximum(variance, 0.0), spread, chances, "above")


def _spread(value: inputs.Floats, chances: inputs.Floats) -> inputs.Floats:
    """Return the variance of c at each point of the grid."""
    return np.maximum(chances @ value**2 - (chances @ value) ** 2, 0.0)


def _shifted(
    value: inputs.Floats, target: inputs.Floats, chances: inputs.Floats, side: Side
) -> inputs.Floats:
    """Return c, moved by its largest error on the grid: then it stays on its side of the target."""
    sign = 1.0 if side == "above" else -1.0
    error = max(0.0, float(np.max(sign * (target - chances @ value))))
    return np.asarray(value + sign * error, dtype=np.float64)


def _program(
    chances: inputs.Floats, target: inputs.Floats, side: Side, penalty: float
) -> inputs.Floats:
    """Return c that minimises mean(d + MISFIT d^2 + penalty Var c), d = |target - E c| on one side.

    A least distance problem, by non-negative least squares (Lawson and Hanson 1974, chapter 23).
    """
    sign = 1.0 if side == "above" else -1.0
    weight = 1.0 / len(target)
    outer = chances.T @ chances * weight
    spread = np.diag(chances.sum(axis=0) * weight) - outer
    form = 2.0 * (MISFIT * outer + penalty * spread) + 1e-10 * np.eye(chances.shape[1])
    linear = weight * chances.T @ (2.0 * MISFIT * target - sign)
    factor = scipy.linalg.cholesky(form)
    free = scipy.linalg.cho_solve((factor, False), linear)
    rows = scipy.linalg.solve_triangular(factor, sign * chances.T, trans="T").T
    room = sign * (target - chances @ free)
    matrix = np.vstack([rows.T, room])
    unit = np.zeros(len(matrix))
    unit[-1] = 1.0
    dual, _ = scipy.optimize.nnls(matrix, unit, maxiter=50 * len(target))
    residual = matrix @ dual - unit
    nearest = -residual[:-1] / residual[-1]
    return np.asarray(free + scipy.linalg.solve_triangular(factor, nearest), dtype=np.float64)
