"""The direction of an attribute, learnt from images with and without it (OASIS eq. 12-16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.vectors import feature_rows, unit

Kernel = Callable[[inputs.Floats, inputs.Floats], npt.ArrayLike]
"""A function from rows [n, d] and rows [m, d] to similarities [n, m], as in
``sklearn.metrics.pairwise``."""


def supervised_direction(
    features: npt.ArrayLike, labels: npt.ArrayLike, kernel: str | Kernel = "linear"
) -> inputs.Floats:
    """Return the direction of change in an attribute, by supervised principal components.

    It is the direction along which the features depend most on the labels (HSIC; Barshan et al.
    2011):

    .. math:: M = Z^T H K_Y H Z      (OASIS eq. 12-14, rows of Z are features)

    has it as leading eigenvector. With two labels this is Z^T H y scaled to unit length, the
    difference between the two mean features. With another kernel

    .. math:: M = K H K_Y H K      (OASIS eq. 15-16)

    has a leading eigenvector b with a weight per image. WALS needs a direction of feature space:
    the weighted sum of the centred features, Z^T H b. The paper leaves this step open.

    Args:
        features: one row per image that was made to show or to lack the attribute, [n_images, d].
        labels: 1 (or True) for an image with the attribute, 0 for one without, [n_images].
        kernel: "linear", or for eq. 15-16 "cosine", "laplacian", "poly", "rbf", "sigmoid" with the
            defaults of scikit-learn, or any function (rows, rows) -> similarities, such as those
            of ``sklearn.metrics.pairwise``.

    Returns:
        Direction of unit length that points towards label 1, [d].

    Raises:
        ValueError: shapes do not match, a label is neither 0 nor 1, one of the two is absent, the
            kernel is unknown, or images with and without the attribute do not differ.

    >>> supervised_direction([[2.0, 1.0], [0.0, 1.0]], [1, 0])
    array([1., 0.])
    >>> supervised_direction([[2.0, 1.0], [0.0, 1.0]], [1, 0], kernel="rbf")
    array([1., 0.])
    """
    rows = feature_rows("features", features)
    has_attribute = inputs.booleans("labels", labels)
    if has_attribute.shape != rows.shape[:1]:
        raise ValueError(
            "labels must have a value per image, got "
            f"labels.shape={has_attribute.shape}, features.shape={rows.shape}"
        )
    if has_attribute.all() or not has_attribute.any():
        raise ValueError(
            f"labels must hold both 0 and 1, got labels={has_attribute.astype(int).tolist()}"
        )
    contrast = has_attribute - has_attribute.mean()
    weights = contrast if kernel == "linear" else _weights(rows, contrast, kernel)
    centred = rows - rows.mean(axis=0)
    direction, difference = centred.T @ weights, centred.T @ contrast
    # The sign of an eigenvector is arbitrary, and "sigmoid" similarities are no inner products.
    turned = -direction if direction @ difference < 0 else direction
    return unit("the difference that the labels make", turned)


def _weights(rows: inputs.Floats, contrast: inputs.Floats, kernel: str | Kernel) -> inputs.Floats:
    """Return the leading eigenvector of eq. 16, which is K H y for two labels."""
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            names = ", ".join(sorted(("linear", *KERNELS)))
            raise ValueError(f"kernel must be one of {names} or a function, got kernel={kernel!r}")
        kernel = KERNELS[kernel]
    similarities = inputs.floats("kernel(features, features)", kernel(rows, rows))
    if similarities.shape != (len(rows), len(rows)):
        raise ValueError(
            f"kernel must give [{len(rows)}, {len(rows)}], got shape {similarities.shape}"
        )
    weights: inputs.Floats = similarities @ contrast
    return weights


def _cosine(a: inputs.Floats, b: inputs.Floats) -> inputs.Floats:
    lengths = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    return np.asarray(np.divide(a @ b.T, lengths, out=np.zeros_like(lengths), where=lengths > 0))


def _laplacian(a: inputs.Floats, b: inputs.Floats) -> inputs.Floats:
    distances = np.array([np.abs(b - row).sum(axis=1) for row in a])
    return np.asarray(np.exp(-distances / a.shape[1]))


def _poly(a: inputs.Floats, b: inputs.Floats) -> inputs.Floats:
    return np.asarray((a @ b.T / a.shape[1] + 1.0) ** 3)


def _rbf(a: inputs.Floats, b: inputs.Floats) -> inputs.Floats:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * a @ b.T
    return np.asarray(np.exp(-np.maximum(squares, 0.0) / a.shape[1]))


def _sigmoid(a: inputs.Floats, b: inputs.Floats) -> inputs.Floats:
    return np.asarray(np.tanh(a @ b.T / a.shape[1] + 1.0))


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {"cosine": _cosine, "laplacian": _laplacian, "poly": _poly, "rbf": _rbf, "sigmoid": _sigmoid}
)
"""Kernels by their scikit-learn names, with its defaults: gamma = 1/d, degree 3, coef0 1."""
