"""Distances between two sets of images in the feature space of an encoder."""

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
"""Fewest images of a set; a single one has no spread."""


def frechet_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the Frechet distance between the normal distributions of two sets of features.

    .. math:: |mu_1 - mu_2|^2 + tr(S_1 + S_2 - 2 (S_1 S_2)^{1/2})      (thesis eq. 4.32, FID)

    The distance is biased upwards, and more so with fewer images: compare only sets of equal sizes.
    Verdicts use ``kernel_distance``.

    Args:
        first: one row per image, [n_images, d].
        second: one row per image of the other set; the number of images may differ.

    Returns:
        The distance, at least 0.

    Raises:
        ValueError: a set has fewer than two images, the rows differ in length, or a value is not
            finite.

    >>> round(frechet_distance([[0.0], [2.0]], [[3.0], [5.0]]), 6)
    9.0
    """
    first_rows, second_rows = _both(first, second)
    covariances = [np.atleast_2d(np.cov(rows, rowvar=False)) for rows in (first_rows, second_rows)]
    # The product of the covariances is similar to this symmetric matrix: equal eigenvalues.
    values, vectors = np.linalg.eigh(covariances[0])
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    mixed = np.linalg.eigvalsh(root @ covariances[1] @ root)
    shared = np.sqrt(np.clip(mixed, 0.0, None)).sum()
    apart = float(np.sum((first_rows.mean(axis=0) - second_rows.mean(axis=0)) ** 2))
    spread = float(np.trace(covariances[0]) + np.trace(covariances[1]) - 2.0 * shared)
    return max(0.0, apart + spread)


def kernel_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return an unbiased estimate of the squared maximum mean discrepancy of two sets of features.

    .. math:: mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean k(x_i, y_j),
       k(x, y) = (x . y / d + 1)^3      (KID, Binkowski et al. 2018)

    Args:
        first: one row per image, [n_images, d].
        second: one row per image of the other set; the number of images may differ.

    Returns:
        The estimate, which may be negative: its expectation is 0 for two draws of one distribution.

    Raises:
        ValueError: as in ``frechet_distance``.

    >>> round(kernel_distance([[0.0], [0.0]], [[1.0], [1.0]]), 6)
    7.0
    """
    first_rows, second_rows = _both(first, second)
    return (
        _within(first_rows)
        + _within(second_rows)
        - 2.0 * float(_kernel(first_rows, second_rows).mean())
    )


def _within(rows: inputs.Floats) -> float:
    kernel, count = _kernel(rows, rows), len(rows)
    return float((kernel.sum() - np.trace(kernel)) / (count * (count - 1)))


def _kernel(first: inputs.Floats, second: inputs.Floats) -> inputs.Floats:
    return np.asarray((first @ second.T / first.shape[1] + 1.0) ** 3)


def _both(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[inputs.Floats, inputs.Floats]:
    first_rows, second_rows = feature_rows("first", first), feature_rows("second", second)
    if first_rows.shape[1] != second_rows.shape[1]:
        raise ValueError(
            "first and second must have rows of one length, got "
            f"first.shape={first_rows.shape}, second.shape={second_rows.shape}"
        )
    for name, rows in (("first", first_rows), ("second", second_rows)):
        if len(rows) < FEWEST:
            raise ValueError(f"{name} must hold at least two images, got {name}.shape={rows.shape}")
    return first_rows, second_rows
