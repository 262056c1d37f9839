"""Effective number of different images in a set (Friedman and Dieng 2023)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.vectors import feature_rows

register(MetricInfo("vendi_score", 1.0, math.inf, "lower", "Friedman and Dieng 2023, Def. 3.1"))


def vendi_score(features: npt.ArrayLike) -> float:
    """Return the Vendi score: the effective number of images with nothing in common.

    .. math:: exp(-sum_i l_i log l_i)      (Friedman and Dieng 2023, Def. 3.1, order 1)

    with the eigenvalues l_i of K / n, where K holds the cosines between the features of the n
    images. WALS measures along which direction images differ, this score by how much: repeating
    every image leaves the score the same, and fewer images have a lower score. The score depends on
    the encoder and on the number of images, so compare scores of one encoder and of equal numbers
    of images.

    Args:
        features: one row per image, [n_images, d]; scaled to unit length.

    Returns:
        The score in [1, n_images]; lower is worse, as images are more alike.

    Raises:
        ValueError: there is no image, a value is not finite, or a row is zero.

    >>> vendi_score([[1.0, 0.0], [0.0, 2.0]])
    2.0
    >>> vendi_score([[1.0, 0.0], [3.0, 0.0], [1.0, 0.0]])
    1.0
    """
    rows = feature_rows("features", features)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("features must not hold a row of zeros: it has no direction")
    unit = rows / lengths
    # The smaller of the two Gram matrices, which have the same non-zero eigenvalues.
    gram = unit @ unit.T if len(unit) < unit.shape[1] else unit.T @ unit
    shares = np.linalg.eigvalsh(gram / len(unit))
    shares = shares[shares > len(shares) * np.finfo(np.float64).eps]
    score = float(np.exp(-np.sum(shares * np.log(shares))))
    return min(max(score, 1.0), float(len(unit)))
