"""Variety of images: WALS along an attribute, and the Vendi score."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.vectors import feature_rows, singular, unit

register(MetricInfo("wals", 0.0, 1.0, "lower", "OASIS eq. 7", in_baselines=True))


def wals(
    features: npt.ArrayLike,
    direction: npt.ArrayLike,
    rank: int | None = None,
    center: bool = False,
) -> float:
    """Return the weighted alignment score: the share of the variety of images along an attribute.

    .. math:: sum_i s_i |d . u_i| / sum_i s_i      (OASIS eq. 7)

    with the singular values s_i of the features and their right singular vectors u_i, directions of
    feature space. The sign of a singular vector is arbitrary, hence the absolute value: reversing
    the direction d changes nothing.

    The score is a mean of alignments, weighted by spread, and no count of different images:
    repeating a set keeps its score, as every s_i grows by one factor. The score falls with spread
    in directions unrelated to the attribute, or with a lack of spread along the attribute. It
    depends on the encoder and on the number of images, so compare scores of one encoder and of
    equal numbers of images.

    Args:
        features: one row per image, [n_images, d].
        direction: direction of change in the attribute, [d]; scaled to unit length.
        rank: number of the largest singular values that count, 1 to min(n_images, d); None for all.
        center: whether the mean feature is subtracted first; the paper does not.

    Returns:
        The score in [0, 1]; lower is worse, with less variety along the attribute.

    Raises:
        ValueError: shapes do not match, a value is not finite, the direction is zero, the rank is
            out of range, or the features do not vary at all.

    >>> wals([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    0.5
    >>> wals([[1.0, 0.0], [-3.0, 0.0]], [-2.0, 0.0])
    1.0
    """
    rows, along = feature_rows("features", features), inputs.floats("direction", direction)
    if along.shape != rows.shape[1:]:
        raise ValueError(
            "direction must have a value per feature, got "
            f"direction.shape={along.shape}, features.shape={rows.shape}"
        )
    most = min(rows.shape)
    if rank is not None and not 1 <= rank <= most:
        raise ValueError(f"rank must lie in [1, {most}], got rank={rank!r}")
    length = np.linalg.norm(rows)
    if center:
        rows = rows - rows.mean(axis=0)
    values, vectors = singular(rows)
    values, vectors = values[:rank], vectors[:rank]
    # Centred equal rows differ from 0 by rounding.
    if values[0] <= length * most * np.finfo(np.float64).eps:
        raise ValueError(f"features must not all be {'the same' if center else '0'}")
    alignments = np.abs(vectors @ unit("direction", along))
    return float(min(1.0, np.sum(values * alignments) / np.sum(values)))


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
