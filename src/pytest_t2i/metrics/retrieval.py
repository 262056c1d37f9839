"""Retrieval scores: whether the nearest images have the same label (thesis section 2.5.6)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.vectors import feature_rows

register(MetricInfo("retrieval_precision", 0.0, 1.0, "lower", "thesis section 2.5.6, ours"))
register(MetricInfo("mean_average_precision", 0.0, 1.0, "lower", "thesis section 2.5.6, ours"))

SAME = 1e-12
"""Tolerance of cosines: nearer ones are equal, so that rounding does not rank."""


def retrieval_precisions(
    features: npt.ArrayLike, labels: npt.ArrayLike, k: int = 5
) -> inputs.Floats:
    """Return the share of the same label among the k nearest images of each image.

    Each image in turn is the query; all others are ranked by the cosine of their features. Of
    equally near images of which only some are among the k, each counts with its probability to be
    among them.

    Args:
        features: one row per image, [n_images, d].
        labels: the kind of each image, [n_images].
        k: number of nearest images, less than n_images.

    Returns:
        Array [n_images] of values in [0, 1].

    Raises:
        ValueError: shapes do not match, a row is zero, only one image has a label, or k is out of
            range.

    >>> retrieval_precisions([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], list("aabb"), k=1)
    array([1., 1., 1., 1.])
    """
    cosines, same = _compared(features, labels)
    if not 1 <= k < len(cosines):
        raise ValueError(f"k must lie in [1, {len(cosines) - 1}], got k={k!r}")
    return np.array([_precision(row, hit, k) for row, hit in zip(cosines, same, strict=True)])


def retrieval_precision(features: npt.ArrayLike, labels: npt.ArrayLike, k: int = 5) -> float:
    """Return the mean share of the same label among the k nearest images.

    .. math:: P@k = mean over images of (same label among the k nearest) / k

    The thesis shows the five nearest pictures of a query (section 2.5.6) and gives no number.
    Arguments and errors are those of ``retrieval_precisions``.

    Returns:
        The mean in [0, 1]; lower is worse.

    >>> retrieval_precision([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], list("abab"), k=1)
    0.0
    """
    return float(np.mean(retrieval_precisions(features, labels, k)))


def average_precisions(features: npt.ArrayLike, labels: npt.ArrayLike) -> inputs.Floats:
    """Return the average precision of each image, when all others are ranked by nearness.

    .. math:: AP = sum_r (recall_r - recall_(r-1)) precision_r

    over ranks r of the other images, the nearest first; equally near ones share a rank. Arguments
    and errors are those of ``retrieval_precisions``, without k.

    Returns:
        Array [n_images] of values in (0, 1].

    >>> average_precisions([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], list("aabb"))
    array([1., 1., 1., 1.])
    """
    cosines, same = _compared(features, labels)
    return np.array([_average(row, hit) for row, hit in zip(cosines, same, strict=True)])


def mean_average_precision(features: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean over images of the average precision of ranking all others by nearness.

    .. math:: mAP = mean of AP over images

    Arguments and errors are those of ``average_precisions``.

    Returns:
        The mean in (0, 1]; lower is worse. Features that are independent of the labels have about
        the share of a label among all images.

    >>> mean_average_precision([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], list("aabb"))
    1.0
    """
    return float(np.mean(average_precisions(features, labels)))


def _compared(features: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[inputs.Floats, inputs.Bools]:
    """Return the cosines of each image with all others, and whether their labels are equal.

    Both are [n, n - 1].
    """
    rows, names = feature_rows("features", features), inputs.labels("labels", labels)
    if names.shape != rows.shape[:1]:
        raise ValueError(
            "labels must have a value per image, got "
            f"labels.shape={names.shape}, features.shape={rows.shape}"
        )
    lonely = [label for label, count in Counter(names.tolist()).items() if count < 2]  # noqa: PLR2004 - a query and one to find
    if lonely:
        raise ValueError(f"labels must hold each label at least twice, got {lonely[0]!r} once")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError("features must not hold a row of zeros: it has no direction")
    unit = rows / lengths
    is_other = ~np.eye(len(rows), dtype=bool)
    shape = len(rows), len(rows) - 1
    same = names[:, None] == names[None, :]
    return (unit @ unit.T)[is_other].reshape(shape), same[is_other].reshape(shape)


def _groups(cosines: inputs.Floats, same: inputs.Bools) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the images and hits up to the end of each group of equally near images."""
    order = np.argsort(-cosines, kind="stable")
    falling = cosines[order]
    ends = np.flatnonzero(np.append(falling[:-1] - falling[1:] > SAME, True))
    return (ends + 1).astype(np.float64), np.cumsum(same[order])[ends].astype(np.float64)


def _precision(cosines: inputs.Floats, same: inputs.Bools, k: int) -> float:
    # Within a group, hits are interpolated: this is the mean over all orders of tied images.
    images, hits = _groups(cosines, same)
    return float(np.interp(k, np.append(0.0, images), np.append(0.0, hits)) / k)


def _average(cosines: inputs.Floats, same: inputs.Bools) -> float:
    images, hits = _groups(cosines, same)
    gained = np.diff(hits, prepend=0.0) / hits[-1]
    return float(np.sum(gained * hits / images))
