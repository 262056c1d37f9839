"""The choice of weights between a masculine and a feminine picture, and of the path to keep.

These are pure computations: eq. 4.20 to 4.23 of the thesis.
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
"""The smallest alpha and beta of a fit."""


@dataclass(frozen=True, slots=True)
class Beta:
    """The Beta distribution of weights (eq. 4.20).

    >>> Beta(3.0, 3.0).quantile(0.5)
    0.5
    """

    alpha: float = 3.0
    beta: float = 3.0

    def __post_init__(self) -> None:
        """Raise ValueError for an alpha or beta that is not above 0 and finite."""
        for name in ("alpha", "beta"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name}: expected a number above 0, got {getattr(self, name):g}")

    def cdf(self, weight: float) -> float:
        """Return the cumulative probability F(weight)."""
        return float(betainc(self.alpha, self.beta, weight))

    def quantile(self, share: float) -> float:
        """Return the weight w with F(w) = ``share`` (eq. 4.21)."""
        return float(betaincinv(self.alpha, self.beta, share))


def next_weight(beta: Beta, weights: Sequence[float], distances: Sequence[float]) -> float:
    """Return the weight of the next picture: the median, by the distribution, of the widest gap.

    With one picture between the endpoints this is eq. 4.22: the side of the endpoint that looks
    less like that picture. The thesis says nothing about further pictures. The method that it
    builds on continues in this way; eq. 4.22 taken literally would stay on one side.

    Args:
        beta: the distribution fitted so far.
        weights: the weights of the pictures so far, rising, with the endpoints 0 and 1.
        distances: the distance between each picture and the next.

    >>> next_weight(Beta(), (0.0, 1.0), (0.4,))
    0.5
    >>> next_weight(Beta(), (0.0, 0.5, 1.0), (0.1, 0.3)) > 0.5
    True
    """
    widest = int(np.argmax(distances))
    low, high = weights[widest], weights[widest + 1]
    return beta.quantile((beta.cdf(low) + beta.cdf(high)) / 2)


def fitted(before: Beta, weights: Sequence[float], distances: Sequence[float]) -> Beta:
    """Return the distribution whose CDF fits the distances travelled at each weight.

    F(w_j) is fitted by least squares to the share of the total distance between the masculine
    endpoint and picture j; alpha and beta start at 1. Where all distances are 0, ``before`` is
    returned.

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
    """Return the path whose widest step is smallest (eq. 4.23), by trying every path.

    Args:
        distances: the distances between any two of k pictures, in the order of weights, [k, k].
        pictures: n, the number of pictures of the path, both endpoints included.

    Returns:
        The places of the pictures, rising. Of paths with equal widest steps, the shortest.

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
