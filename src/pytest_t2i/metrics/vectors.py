"""Feature vectors: checked rows, unit vectors, singular values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs


def feature_rows(name: str, values: npt.ArrayLike) -> inputs.Floats:
    """Return an array with one row per image; raise a ValueError for one without rows or columns.

    >>> feature_rows("features", [[1, 2]])
    array([[1., 2.]])
    """
    rows = inputs.floats(name, values)
    if rows.ndim != 2 or not rows.size:  # noqa: PLR2004 - images and features
        raise ValueError(f"{name} must hold one row per image, got {name}.shape={rows.shape}")
    return rows


def unit(name: str, values: inputs.Floats) -> inputs.Floats:
    """Return the vector scaled to unit length.

    >>> unit("direction", np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    # Scaling by the largest entry first keeps the norm of tiny and of huge vectors representable.
    largest = float(np.max(np.abs(values)))
    if not largest:
        raise ValueError(f"{name} must not be all zero: it has no direction")
    scaled = values / largest
    return np.asarray(scaled / np.linalg.norm(scaled), dtype=np.float64)


def singular(rows: inputs.Floats) -> tuple[inputs.Floats, inputs.Floats]:
    """Return singular values in descending order, and their right singular vectors as rows.

    Values that are 0 up to rounding are set to 0.

    >>> values, vectors = singular(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> values, np.abs(vectors[0])
    (array([2., 0.]), array([0., 1.]))
    """
    _, values, vectors = np.linalg.svd(rows, full_matrices=False)
    least = values[0] * max(rows.shape) * np.finfo(np.float64).eps
    return np.where(values > least, values, 0.0), vectors
