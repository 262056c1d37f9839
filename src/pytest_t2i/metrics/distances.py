"""How far two sets of images lie apart, by an encoder's features."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.vectors import feature_rows

register(MetricInfo("frechet_distance", 0.0, math.inf, "higher", "thesis eq. 4.32"))
register(MetricInfo("kernel_distance", -math.inf, math.inf, "higher", "Binkowski et al. 2018"))

FEWEST = 2
"""Images of a set, below which it has no spread."""


def frechet_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Frechet distance between the normal distributions of two sets of features.

    .. math:: |mu_1 - mu_2|^2 + tr(S_1 + S_2 - 2 (S_1 S_2)^{1/2})      (thesis eq. 4.32, FID)

    It is biased upwards at few images, and more so at fewer: sets of equal sizes compare, and
    verdicts use ``kernel_distance``.

    Args:
        first: one row per image, [n_images, d].
        second: the same of the other set; the number of images may differ.

    Returns:
        The distance, at least 0.

    Raises:
        ValueError: a set has fewer than two images, the rows differ in length, or a value is not
            finite.

    >>> round(frechet_distance([[0.0], [2.0]], [[3.0], [5.0]]), 6)
    9.0
    """
    one, other = _both(first, second)
    covariances = [np.atleast_2d(np.cov(rows, rowvar=False)) for rows in (one, other)]
    # The product of two such matrices is similar to this symmetric one, with the same eigenvalues.
    values, vectors = np.linalg.eigh(covariances[0])
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    mixed = np.linalg.eigvalsh(root @ covariances[1] @ root)
    shared = np.sqrt(np.clip(mixed, 0.0, None)).sum()
    apart = float(np.sum((one.mean(axis=0) - other.mean(axis=0)) ** 2))
    spread = float(np.trace(covariances[0]) + np.trace(covariances[1]) - 2.0 * shared)
    return max(0.0, apart + spread)


def kernel_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Squared maximum mean discrepancy between two sets of features, estimated without bias.

    .. math:: mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean k(x_i, y_j),
       k(x, y) = (x . y / d + 1)^3      (KID, Binkowski et al. 2018)

    Args:
        first: one row per image, [n_images, d].
        second: the same of the other set; the number of images may differ.

    Returns:
        The estimate; about 0 for two draws of one distribution, and then below 0 as often as above.

    Raises:
        ValueError: as ``frechet_distance``.

    >>> round(kernel_distance([[0.0], [0.0]], [[1.0], [1.0]]), 6)
    7.0
    """
    one, other = _both(first, second)
    return _within(one) + _within(other) - 2.0 * float(_kernel(one, other).mean())


def _within(rows: inputs.Floats) -> float:
    kernel, count = _kernel(rows, rows), len(rows)
    return float((kernel.sum() - np.trace(kernel)) / (count * (count - 1)))


def _kernel(first: inputs.Floats, second: inputs.Floats) -> inputs.Floats:
    return np.asarray((first @ second.T / first.shape[1] + 1.0) ** 3)


def _both(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[inputs.Floats, inputs.Floats]:
    one, other = feature_rows("first", first), feature_rows("second", second)
    if one.shape[1] != other.shape[1]:
        raise ValueError(
            "first and second must have rows of one length, got "
            f"first.shape={one.shape}, second.shape={other.shape}"
        )
    for name, rows in (("first", one), ("second", other)):
        if len(rows) < FEWEST:
            raise ValueError(f"{name} must hold at least two images, got {name}.shape={rows.shape}")
    return one, other
