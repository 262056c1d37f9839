"""Which weights between a masculine and a feminine picture are tried, and which path is kept.

Pure numbers: eq. 4.20 to 4.23 of the thesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.special import betainc, betaincinv

SMALLEST = 1e-6
"""Smallest alpha and beta of a fit."""


@dataclass(frozen=True, slots=True)
class Beta:
    """The distribution that weights are drawn from (eq. 4.20).

    >>> Beta(3.0, 3.0).quantile(0.5)
    0.5
    """

    alpha: float = 3.0
    beta: float = 3.0

    def __post_init__(self) -> None:
        """Refuse what is no shape."""
        for name in ("alpha", "beta"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name}: expected a number above 0, got {getattr(self, name):g}")

    def cdf(self, weight: float) -> float:
        """F(weight)."""
        return float(betainc(self.alpha, self.beta, weight))

    def quantile(self, share: float) -> float:
        """The weight below which so much of it lies (eq. 4.21)."""
        return float(betaincinv(self.alpha, self.beta, share))


def next_weight(beta: Beta, weights: Sequence[float], distances: Sequence[float]) -> float:
    """The weight of the next picture: halfway, by the distribution, across the widest gap.

    With one picture between the endpoints this is eq. 4.22: on the side of the endpoint that looks
    less like it. The thesis says no more; the method that it builds on goes on so, and eq. 4.22
    word for word would stay on one side for ever.

    Args:
        beta: the distribution as it is fitted by now.
        weights: of the pictures so far, rising, the endpoints 0 and 1 among them.
        distances: between each and the next.

    >>> next_weight(Beta(), (0.0, 1.0), (0.4,))
    0.5
    >>> next_weight(Beta(), (0.0, 0.5, 1.0), (0.1, 0.3)) > 0.5
    True
    """
    widest = int(np.argmax(distances))
    low, high = weights[widest], weights[widest + 1]
    return beta.quantile((beta.cdf(low) + beta.cdf(high)) / 2)


def fitted(before: Beta, weights: Sequence[float], distances: Sequence[float]) -> Beta:
    """The distribution whose CDF goes through how far the pictures have come at their weights.

    Least squares of F(w_j) against the share of the way from the masculine endpoint, the sum of the
    distances so far; alpha and beta start at 1. Where nothing has changed on the way, it stays.

    >>> even = fitted(Beta(), (0.0, 0.25, 0.5, 0.75, 1.0), (0.1, 0.1, 0.1, 0.1))
    >>> round(even.alpha, 3), round(even.beta, 3)
    (1.0, 1.0)
    """
    total = float(sum(distances))
    if total <= 0.0:
        return before
    come = np.concatenate([[0.0], np.cumsum(distances)]) / total
    at = np.asarray(weights)

    def residuals(shape: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(betainc(shape[0], shape[1], at) - come)

    found = least_squares(residuals, (1.0, 1.0), bounds=(SMALLEST, np.inf)).x
    return Beta(float(found[0]), float(found[1]))


def smoothest_path(distances: npt.ArrayLike, pictures: int) -> tuple[int, ...]:
    """The pictures of the path whose widest step is least (eq. 4.23), by trying every path.

    Args:
        distances: between any two of the k pictures in the order of their weights, [k, k].
        pictures: of the path, n; both endpoints are among them.

    Returns:
        Their places, rising. Of paths with equal widest steps, the one with the shortest way.

    Raises:
        ValueError: n does not lie between 2 and k.

    >>> apart = abs(np.subtract.outer([0.0, 0.1, 0.5, 1.0], [0.0, 0.1, 0.5, 1.0]))
    >>> smoothest_path(apart, 3)
    (0, 2, 3)
    """
    between = np.asarray(distances, dtype=float)
    last = len(between) - 1
    if not 2 <= pictures <= len(between):  # noqa: PLR2004 - the endpoints
        raise ValueError(f"pictures: expected 2 to {len(between)}, got {pictures}")
    paths = [(0, *inner, last) for inner in combinations(range(1, last), pictures - 2)]
    return min(paths, key=lambda path: _width(between, path))


def _width(between: npt.NDArray[np.float64], path: tuple[int, ...]) -> tuple[float, float]:
    steps = [float(between[a, b]) for a, b in pairwise(path)]
    return max(steps), sum(steps)
