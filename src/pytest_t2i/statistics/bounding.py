"""Functions of a prompt's counts whose expectation stays on one side of its true distance.

|p - r|, the distance of a share from a reference, has no unbiased estimator, as it has a corner at
p = r; nor has |2p - 1|, which is twice the distance from 1/2. But there are functions of the counts
with E c_lo <= |p - r| <= E c_hi for every p: their means over prompts bound the score of a model
for any distribution of bias over the prompts (docs/decisions/0007). Among all such functions the
chosen ones have the least mean distance from the truth and the least variance: a quadratic program
for each number of images.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares import check_choice

Side = Literal["below", "above"]

EVEN = 0.5
PROGRAM, UNEVEN_PROGRAM = 100, 60
"""Most images that a program is solved for, of an even reference and of others; above, the solution
at this number is stretched."""
SUITES: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000, 3000)
"""Numbers of prompts that functions are computed for: with more prompts, each may have more
variance."""
SUITE = 100
"""Number of prompts for which the variance is weighed, where no suite is given."""
MISFIT = 2.0
"""Weight of the squared distance against the distance itself, of twice |p - r|."""
SMOOTH = 0.1
"""Weight of the variance of a variance bound against its distance from the variance."""
QUANTILE = 1.6449
"""Normal quantile of a one-sided error of 5 %, the usual one of an end; it weighs the variance."""


class Bounding(NamedTuple):
    """A bounding function c of the images with a label, 0 to n, and an upper bound of its variance.

    The functions of an even reference are symmetric: both genders count alike.
    """

    value: inputs.Floats
    variance: inputs.Floats
    """Values of v, with E v >= Var c for every p."""

    def twice(self) -> Bounding:
        """Return the same of twice the distance: of |2p - 1| for an even reference."""
        return Bounding(2.0 * self.value, 4.0 * self.variance)


def bounding_distance(n: int, share: float, side: Side, prompts: int = SUITE) -> Bounding:
    """Return c with E c <= |p - r|, or E c >= |p - r|, for every p, for a suite of prompts.

    For independent images of a prompt (docs/decisions/0007). The quadratic program is ours.
    """
    if n < 1 or prompts < 1:
        raise ValueError(f"n and prompts must be at least 1, got n={n!r}, prompts={prompts!r}")
    check_choice("side", side, ("below", "above"))
    return _solved(n, share, side, min(SUITES, key=lambda size: abs(np.log(size / prompts))))


def rarer_chances(n: int, bias: inputs.Floats) -> inputs.Floats:
    """Return the chances of the rarer gender's images at each |2p - 1|, [n_bias, n // 2 + 1]."""
    rarer = np.arange(n // 2 + 1)
    less = scipy.stats.binom.pmf(rarer, n, (1.0 - bias[:, None]) / 2.0)
    more = scipy.stats.binom.pmf(n - rarer, n, (1.0 - bias[:, None]) / 2.0)
    return np.asarray(less + np.where(2 * rarer == n, 0.0, more), dtype=np.float64)


class _Grid(NamedTuple):
    """Shares at which bounds are checked, denser towards 0 and 1 and with more images."""

    distance: inputs.Floats
    """Twice |p - r|."""
    chances: inputs.Floats
    """Chance of each count, of the rarer gender's images where the reference is even."""


def _grid(n: int, share: float, fineness: int) -> _Grid:
    points = int(fineness * (8 + 2.5 * np.sqrt(n)))
    if share == EVEN:
        bias = np.asarray(np.sin(np.linspace(0.0, np.pi / 2.0, points)), dtype=np.float64)
        return _Grid(bias, rarer_chances(n, bias))
    angles = np.linspace(0.0, np.pi / 2.0, 2 * points)
    shares = np.unique(np.append(np.sin(angles) ** 2, share))
    chances = scipy.stats.binom.pmf(np.arange(n + 1), n, shares[:, None])
    return _Grid(2.0 * np.abs(shares - share), np.asarray(chances, dtype=np.float64))


@lru_cache(maxsize=4096)
def _solved(n: int, share: float, side: Side, prompts: int) -> Bounding:
    most = PROGRAM if share == EVEN else UNEVEN_PROGRAM
    fine = _grid(n, share, 12 if n <= PROGRAM else 2)
    if n <= most:
        grid = _grid(n, share, 4)
        value = _program(grid.chances, grid.distance, side, QUANTILE * np.sqrt(n / prompts))
        value = _shifted(value, fine.distance, fine.chances, side)
        spread = _spread(value, fine.chances)
        variance = _program(fine.chances, spread * n, "above", SMOOTH) / n
    else:
        # Close to p = r, binomial counts have one shape at every n in units of 1/sqrt(n).
        near, shrink = _solved(most, share, side, prompts).twice(), np.sqrt(most / n)
        at, place = (np.arange(images + 1) / images for images in (most, n))
        place = place[: fine.chances.shape[1]]
        from_here = (place - share) / shrink
        excess = near.value - 2.0 * np.abs(at - share)
        value = 2.0 * np.abs(place - share) + shrink * np.interp(from_here, at - share, excess)
        value = _shifted(value, fine.distance, fine.chances, side)
        spread = _spread(value, fine.chances)
        excess = near.variance * most - 4.0 * at * (1.0 - at)
        stretched = np.interp(from_here, at - share, excess)
        variance = (4.0 * place * (1.0 - place) + stretched) / n
    variance = _shifted(np.maximum(variance, 0.0), spread, fine.chances, "above")
    counts = np.arange(n + 1)
    if share == EVEN:
        counts = np.minimum(counts, n - counts)
    return Bounding(value[counts] / 2.0, variance[counts] / 4.0)


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
