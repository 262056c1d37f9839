"""How many different images a set holds (Friedman and Dieng 2023)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.vectors import feature_rows

register(MetricInfo("vendi_score", 1.0, math.inf, "lower", "Friedman and Dieng 2023, Def. 3.1"))


def vendi_score(features: npt.ArrayLike) -> float:
    """Vendi score: how many images that have nothing in common would be as diverse as these.

    .. math:: exp(-sum_i l_i log l_i)      (Friedman and Dieng 2023, Def. 3.1, order 1)

    with the eigenvalues l_i of K / n, where K holds the cosines between the features of the n
    images. WALS says along what images differ, this says how much: a set in which each image is
    shown again has the score of the set without, and fewer images have less than many. It depends
    on the encoder and on how many images there are, so scores compare between equal numbers of
    images, by one encoder.

    Args:
        features: one row per image, [n_images, d]; scaled to unit length.

    Returns:
        The score in [1, n_images]; lower is worse: more of the same.

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
    # The smaller one of the two Gram matrices, which share their eigenvalues.
    gram = unit @ unit.T if len(unit) < unit.shape[1] else unit.T @ unit
    shares = np.linalg.eigvalsh(gram / len(unit))
    shares = shares[shares > len(shares) * np.finfo(np.float64).eps]
    score = float(np.exp(-np.sum(shares * np.log(shares))))
    return min(max(score, 1.0), float(len(unit)))
