"""Directions of an attribute, from its descriptions or from images made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_t2i.metrics import supervised_direction
from pytest_t2i.metrics.attribute_direction import KERNELS

KERNEL = "rbf"
"""Kernel of direction "kernel"; "kernel:poly" names another."""
DIRECTIONS = ("text", "images", "kernel", *(f"kernel:{name}" for name in KERNELS))
ALIKE = 1e-5
"""Largest difference between entries of unit features of the same picture."""


def text_direction(present: np.ndarray | None, absent: np.ndarray | None) -> np.ndarray | None:
    """Return the difference of the descriptions' unit features (OASIS eq. 6), or None.

    It is None where a description has no features, or where both have the same.

    >>> text_direction(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    array([ 1., -1.])
    """
    if present is None or absent is None or alike([present, absent]):
        return None
    return np.asarray(present - absent)


def image_direction(direction: str, present: np.ndarray, absent: np.ndarray) -> np.ndarray | None:
    """Return the supervised direction from images of both descriptions (OASIS eq. 12-16).

    Features are [n_images, d] each. Returns None without a difference.

    >>> image_direction("images", np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]]))
    array([1., 0.])
    """
    if not len(present) or not len(absent) or alike([present.mean(0), absent.mean(0)]):
        return None
    labels = np.repeat([1, 0], [len(present), len(absent)])
    kernel = "linear" if direction == "images" else _kernel_of(direction)
    return supervised_direction(np.concatenate([present, absent]), labels, kernel)


def _kernel_of(direction: str) -> str:
    """Return the kernel that a direction names.

    >>> _kernel_of("kernel"), _kernel_of("kernel:poly")
    ('rbf', 'poly')
    """
    return direction.partition(":")[2] or KERNEL


def alike(rows: Sequence[np.ndarray] | np.ndarray) -> bool:
    """Return whether features differ by rounding alone.

    >>> alike([np.array([0.1, 0.2]), np.array([0.1, 0.2 + 1e-7])])
    True
    """
    return bool(np.ptp(np.asarray(rows), axis=0).max() <= ALIKE)
