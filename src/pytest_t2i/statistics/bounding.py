"""Functions of a prompt's counts whose expectation stays on one side of the prompt's true bias.

|2p - 1| has no unbiased estimator, as it has a corner at p = 1/2. But there are functions of the
counts with E c_lo <= |2p - 1| <= E c_hi for every p: their means over prompts bound the model bias
score for any distribution of bias over the prompts (docs/decisions/0007). Among all such functions
the chosen ones have the least mean distance from |2p - 1| and the least variance: a quadratic
program for each number of images.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs

Side = Literal["below", "above"]

PROGRAM = 100
"""Most images that a program is solved for; above, the solution at 100 is stretched."""
SUITES: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000, 3000)
"""Numbers of prompts that functions are computed for: with more prompts, each may have more
variance."""
MISFIT = 2.0
"""Weight of the squared distance against the distance itself."""
SMOOTH = 0.1
"""Weight of the variance of a variance bound against its distance from the variance."""
QUANTILE = 1.6449
"""Normal quantile of a one-sided error of 5 %, the usual one of an end; it weighs the variance."""


class Bounding(NamedTuple):
    """A bounding function of the counts of n images, and an upper bound of its variance.

    The counts enter by the number of images of the rarer gender, 0 to n // 2.
    """

    value: inputs.Floats
    """Values of c, [n // 2 + 1]."""
    variance: inputs.Floats
    """Values of v, with E v >= Var c for every p, [n // 2 + 1]."""


def bounding_function(n: int, prompts: int, side: Side) -> Bounding:
    """Return a function c of the counts with E c <= |2p - 1| or E c >= |2p - 1| for every p.

    Args:
        n: number of clear images of the prompt, at least 1.
        prompts: number of prompts of the suite; the variance of c weighs less with more of them.
        side: side of the true bias on which the expectation stays, "below" or "above".

    Returns:
        The function and an upper bound of its variance, by images of the rarer gender.

    Raises:
        ValueError: n or prompts is below 1, or the side is unknown.

    >>> bounding_function(2, 100, "below").value.round(2)
    array([ 1., -1.])
    """
    if n < 1 or prompts < 1:
        raise ValueError(f"n and prompts must be at least 1, got n={n!r}, prompts={prompts!r}")
    if side not in {"below", "above"}:
        raise ValueError(f"side must be 'below' or 'above', got side={side!r}")
    suite = min(SUITES, key=lambda size: abs(np.log(size / prompts)))
    return _solved(n, suite, side) if n <= PROGRAM else _stretched(n, suite, side)


@lru_cache(maxsize=2048)
def plug_in_function(n: int) -> Bounding:
    """Return |n_m - n_f| / n itself, with an upper bound of its variance.

    >>> plug_in_function(2).value
    array([1., 0.])
    """
    near = None if n <= PROGRAM else plug_in_function(PROGRAM).variance
    chances = rarer_chances(n, _biases(n, 12 if n <= PROGRAM else 2))
    return Bounding(_scores(n), _variance(n, _scores(n), chances, near))


def rarer_chances(n: int, bias: inputs.Floats) -> inputs.Floats:
    """Return the distribution of the rarer gender's images at each |2p - 1|, [n_bias, n // 2 + 1].

    >>> rarer_chances(2, np.array([0.0, 1.0]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
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
    bias = _biases(n, 4)
    chances = rarer_chances(n, bias)
    penalty = QUANTILE * np.sqrt(n / prompts)
    value = _quadratic_program(chances, bias, side, penalty)
    return _finished(n, prompts, value, side, bias, chances)


@lru_cache(maxsize=512)
def _stretched(n: int, prompts: int, side: Side) -> Bounding:
    """Stretch the solution at PROGRAM images to n.

    Close to p = 1/2, binomial counts have one shape at every n in units of 1/sqrt(n).
    """
    near = _solved(PROGRAM, prompts, side).value
    score, wanted = _scores(PROGRAM), _scores(n)
    shrink = np.sqrt(PROGRAM / n)
    correction = shrink * np.interp(wanted / shrink, score[::-1], (near - score)[::-1])
    bias = _biases(n, 2)
    return _finished(n, prompts, wanted + correction, side, bias, rarer_chances(n, bias))


def _finished(
    n: int, prompts: int, value: inputs.Floats, side: Side, bias: inputs.Floats,
    chances: inputs.Floats,
) -> Bounding:  # fmt: skip
    """Shift c by its largest error between the points of the program, and bound its variance."""
    if n <= PROGRAM:
        bias = _biases(n, 12)
        chances = rarer_chances(n, bias)
    expected, fine = chances @ value, bias
    if side == "below":
        value = value - max(0.0, float(np.max(expected - fine)))
    else:
        value = value + max(0.0, float(np.max(fine - expected)))
    near = None if n <= PROGRAM else _solved(PROGRAM, prompts, side).variance
    return Bounding(value, _variance(n, value, chances, near))


def _variance(
    n: int, value: inputs.Floats, chances: inputs.Floats, near: inputs.Floats | None
) -> inputs.Floats:
    """Return v with E v >= Var c for every p; ``near`` is the v of PROGRAM images."""
    spread = np.maximum(chances @ value**2 - (chances @ value) ** 2, 0.0)
    if near is None:
        variance = _quadratic_program(chances, spread * n, "above", SMOOTH) / n
    else:
        score = _scores(PROGRAM)
        excess = near * PROGRAM - (1.0 - score**2)
        wanted = _scores(n)
        stretched = np.interp(wanted * np.sqrt(n / PROGRAM), score[::-1], excess[::-1])
        variance = (1.0 - wanted**2 + stretched) / n
    variance = np.maximum(variance, 0.0)
    return variance + max(0.0, float(np.max(spread - chances @ variance)))


def _quadratic_program(
    chances: inputs.Floats, target: inputs.Floats, side: Side, penalty: float
) -> inputs.Floats:
    """Return c that minimises mean(d + MISFIT d^2 + penalty Var c), d = |target - E c| on one side.

    This is a least distance problem: with the Cholesky factor of the quadratic form as unit of
    length, the solution is the point of a polyhedron nearest to a given one, found by non-negative
    least squares (Lawson and Hanson 1974, chapter 23).
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


DISTANCE_PROGRAM = 60
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
    if n <= DISTANCE_PROGRAM:
        value = _quadratic_program(chances, target, side, QUANTILE * 2.0 * np.sqrt(n / SUITE))
    else:
        value = _closed(n, share, side)
    expected = chances @ value
    error = float(np.max((expected - target) if side == "below" else (target - expected)))
    value += max(0.0, error) * (-1.0 if side == "below" else 1.0)
    return Bounding(value, _distance_variance(n, value, shares, chances))


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


def _distance_variance(
    n: int, value: inputs.Floats, shares: inputs.Floats, chances: inputs.Floats
) -> inputs.Floats:
    spread = np.maximum(chances @ value**2 - (chances @ value) ** 2, 0.0)
    if n <= DISTANCE_PROGRAM:
        result = _quadratic_program(chances, spread * n, "above", SMOOTH) / n
    else:
        result = np.interp((np.arange(n + 1) + 0.5) / (n + 1.0), shares, spread)
    result = np.maximum(result, 0.0)
    return np.asarray(result + max(0.0, float(np.max(spread - chances @ result))), dtype=np.float64)
