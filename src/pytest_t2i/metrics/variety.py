"""Variety of images along an attribute: WALS."""

from __future__ import annotations

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
