"""Dependence of two spaces (thesis eq. 2.9-2.12; Szekely and Rizzo 2014)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register

register(MetricInfo("distance_correlation", 0.0, 1.0, "higher", "thesis eq. 2.9-2.12"))
register(
    MetricInfo(
        "corrected_distance_correlation", -1.0, 1.0, "higher", "Szekely and Rizzo 2014, section 2"
    )
)

FEWEST_CORRECTED = 4
"""Fewest images for U-centring, whose denominator is 0 for three."""
SAME = 1e-9
"""Tolerance of distances between rows scaled to about 1: smaller differences are rounding."""


def distance_correlation(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the distance correlation of two embeddings of the same images.

    .. math:: dCov(a, b) / sqrt(dCov(a, a) dCov(b, b))      (thesis eq. 2.11)

    with dCov(a, b) = sqrt(sum_ij A_ij B_ij) / n (eq. 2.12), where A and B are the double-centred
    Euclidean distances between rows: the distances (eq. 2.9), minus the means of their row and of
    their column, plus the overall mean (eq. 2.10). In the population, 0 is equivalent to
    independence. With few images the value lies well above 0 by chance, and more so in more
    dimensions; ``corrected_distance_correlation`` has no such bias.

    Args:
        a: one embedding per image, [n, d], or one number each, [n].
        b: another embedding of the same images, [n, e] or [n].

    Returns:
        The correlation in [0, 1]; higher is worse, as the spaces share more information.

    Raises:
        ValueError: the numbers of rows differ, there are fewer than 2, a value is not finite, or
            all rows of one are equal.

    >>> distance_correlation([0.0, 1.0, 2.0], [5.0, 7.0, 9.0])
    1.0
    >>> distance_correlation([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0])
    0.0
    """
    return correlation(*(centred(distances) for distances in both_distances(a, b, 2)))


def corrected_distance_correlation(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the squared distance correlation without the upward bias of few images.

    .. math:: (A . B) / sqrt((A . A) (B . B))      (Szekely and Rizzo 2014, section 2)

    with A . B = sum over i != j of A_ij B_ij / (n (n - 3)) of U-centred distances: the distances,
    minus the sums of row and column divided by n - 2, plus the overall sum divided by
    (n - 1)(n - 2). The expectation of A . B is 0 for independent spaces, so the value may be
    negative. It estimates the *square* of what ``distance_correlation`` estimates.

    Args:
        a: as in ``distance_correlation``.
        b: as in ``distance_correlation``.

    Returns:
        The value in [-1, 1]; higher is worse.

    Raises:
        ValueError: as in ``distance_correlation``, there are fewer than 4 images, or all rows of
            one space are equally far apart.

    >>> round(corrected_distance_correlation([0.0, 1.0, 2.0, 5.0], [0.0, 2.0, 4.0, 10.0]), 12)
    1.0
    """
    distances = both_distances(a, b, FEWEST_CORRECTED)
    return corrected_correlation(*(u_centred(matrix) for matrix in distances))


def correlation(first: inputs.Floats, second: inputs.Floats) -> float:
    """Return the distance correlation of double-centred distances (thesis eq. 2.11).

    >>> correlation(np.array([[-1.0, 1.0], [1.0, -1.0]]), np.array([[-2.0, 2.0], [2.0, -2.0]]))
    1.0
    """
    shared = max(0.0, float(np.sum(first * second)))
    return min(1.0, math.sqrt(shared / _own(first, second)))


def corrected_correlation(first: inputs.Floats, second: inputs.Floats) -> float:
    """Return the corrected, squared distance correlation of U-centred distances.

    >>> once = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> round(corrected_correlation(once, -once), 12)
    -1.0
    """
    # Each norm is checked: the product could hide one that is 0 up to rounding.
    if min(float(np.linalg.norm(matrix)) for matrix in (first, second)) < SAME * len(first):
        raise ValueError("all rows of a or of b are equally far apart: nothing varies")
    return float(np.clip(np.sum(first * second) / _own(first, second), -1.0, 1.0))


def _own(first: inputs.Floats, second: inputs.Floats) -> float:
    return math.sqrt(float(np.sum(first**2))) * math.sqrt(float(np.sum(second**2)))


def both_distances(
    a: npt.ArrayLike, b: npt.ArrayLike, fewest: int
) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the Euclidean distances between the rows of each space (thesis eq. 2.9).

    >>> both_distances([0.0, 1.0], [[0.0, 0.0], [3.0, 4.0]], 2)[1].tolist()
    [[0.0, 1.25], [1.25, 0.0]]
    """
    rows = {"a": _rows("a", a), "b": _rows("b", b)}
    count, second_count = (len(space) for space in rows.values())
    if count != second_count:
        raise ValueError(
            f"a and b must have a row for each image, got {count} and {second_count} rows"
        )
    if count < fewest:
        raise ValueError(f"a must have at least {fewest} rows, got {count}")
    first, second = (_distances(name, space) for name, space in rows.items())
    return first, second


def centred(distances: inputs.Floats) -> inputs.Floats:
    """Return distances minus row and column means, plus the overall mean (thesis eq. 2.10).

    >>> centred(np.array([[0.0, 2.0], [2.0, 0.0]]))
    array([[-1.,  1.],
           [ 1., -1.]])
    """
    means = distances.mean(axis=0)
    return np.asarray(distances - means[:, None] - means[None, :] + means.mean())


def u_centred(distances: inputs.Floats) -> inputs.Floats:
    """Return U-centred distances, which are 0 on the diagonal (Szekely and Rizzo 2014, Def. 2).

    >>> u_centred(np.ones((4, 4)) - np.eye(4)).any()
    np.False_
    """
    n = len(distances)
    sums = distances.sum(axis=0)
    all_of_them = sums.sum() / ((n - 1) * (n - 2))
    u = distances - sums[:, None] / (n - 2) - sums[None, :] / (n - 2) + all_of_them
    np.fill_diagonal(u, 0.0)
    return np.asarray(u)


def _rows(name: str, values: npt.ArrayLike) -> inputs.Floats:
    rows = inputs.floats(name, values)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not rows.size:  # noqa: PLR2004 - images and features
        raise ValueError(f"{name} must hold one row per image, got {name}.shape={rows.shape}")
    return rows


def _distances(name: str, rows: inputs.Floats) -> inputs.Floats:
    spread = rows - rows[0]
    largest = float(np.max(np.abs(spread)))
    if not largest:
        raise ValueError(f"all rows of {name} are equal: a space without spread has no correlation")
    # The correlation does not depend on the scale; squares of tiny or huge numbers would over- or
    # underflow.
    spread /= 2.0 ** math.floor(math.log2(largest))
    return np.stack([np.linalg.norm(spread - row, axis=1) for row in spread])
