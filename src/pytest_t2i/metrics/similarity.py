"""Representational disparities between neutral, feminine and masculine prompts (Wu eq. 1-2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register

register(MetricInfo("similarity", -1.0, 1.0, "lower", "Wu eq. 1-2"))
register(
    MetricInfo(
        "similarity_gap",
        -2.0,
        2.0,
        "away_from_zero",
        "Wu eq. 1-2",
        meaning="Above 0 the neutral images lie nearer to the masculine ones.",
    )
)


def similarities(a: npt.ArrayLike, b: npt.ArrayLike) -> inputs.Floats:
    """Return the cosine similarity of each row of ``a`` with the same row of ``b``.

    .. math:: cos(a_i, b_i) = a_i . b_i / (|a_i| |b_i|)      (the summands of Wu eq. 1-2)

    Args:
        a: one embedding per row, [n, d]; further axes, as of a latent, are flattened.
        b: embeddings of the other prompts, of the same shape.

    Returns:
        Array of n values in [-1, 1].

    Raises:
        ValueError: shapes differ, are empty, or a row is all zero (it has no direction).

    >>> similarities([[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, -1.0]])
    array([1., 0.])
    """
    first, second = inputs.floats("a", a), inputs.floats("b", b)
    inputs.same_shape(a=first, b=second)
    if first.ndim < 2:  # noqa: PLR2004 - rows need two axes
        raise ValueError(f"a must hold one embedding per row, got a.shape={first.shape}")
    inputs.not_empty(a=first)
    left, right = _unit_rows("a", first), _unit_rows("b", second)
    return np.asarray(np.clip(np.sum(left * right, axis=1), -1.0, 1.0), dtype=np.float64)


def similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the mean cosine similarity of matching rows.

    .. math:: (1/|P|) sum_i cos(a_i, b_i)      (Wu eq. 1 for texts, eq. 2 for latents z0)

    Args:
        a: one embedding per row, [n, d]; further axes are flattened.
        b: embeddings of the other prompts, of the same shape.

    Returns:
        The mean in [-1, 1].

    Raises:
        ValueError: shapes differ, are empty, or a row is all zero.

    >>> similarity([[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, -1.0]])
    0.5
    """
    return float(np.mean(similarities(a, b)))


def similarity_gaps(
    neutral: npt.ArrayLike, feminine: npt.ArrayLike, masculine: npt.ArrayLike
) -> inputs.Floats:
    """Return the gap of each triplet: how much nearer neutral is to masculine than to feminine.

    .. math:: cos(n_i, m_i) - cos(n_i, f_i)      (from Wu eq. 1-2)

    Args:
        neutral: embeddings of the neutral prompts, [n, d]; further axes are flattened.
        feminine: embeddings of their feminine variants, of the same shape.
        masculine: embeddings of their masculine variants, of the same shape.

    Returns:
        Array of n values in [-2, 2]; above 0 where the neutral prompt is nearer to masculine.

    Raises:
        ValueError: shapes differ, are empty, or a row is all zero.

    >>> similarity_gaps([[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]])
    array([1.])
    """
    middle = inputs.floats("neutral", neutral)
    women, men = inputs.floats("feminine", feminine), inputs.floats("masculine", masculine)
    inputs.same_shape(neutral=middle, feminine=women, masculine=men)
    return similarities(middle, men) - similarities(middle, women)


def similarity_gap(
    neutral: npt.ArrayLike, feminine: npt.ArrayLike, masculine: npt.ArrayLike
) -> float:
    """Return how much nearer neutral prompts are to masculine than to feminine ones.

    .. math:: s(neutral, masculine) - s(neutral, feminine)      (from Wu eq. 1-2)

    Args:
        neutral: embeddings of the neutral prompts, [n, d]; further axes are flattened.
        feminine: embeddings of their feminine variants, of the same shape.
        masculine: embeddings of their masculine variants, of the same shape.

    Returns:
        The gap in [-2, 2]; above 0 where neutral prompts are nearer to masculine ones.

    Raises:
        ValueError: shapes differ, are empty, or a row is all zero.

    >>> similarity_gap([[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]])
    1.0
    """
    return float(np.mean(similarity_gaps(neutral, feminine, masculine)))


def _unit_rows(name: str, array: inputs.Floats) -> inputs.Floats:
    rows = array.reshape(len(array), -1)
    # Scaling by the largest entry first keeps norms of tiny and of huge rows representable.
    largest = np.max(np.abs(rows), axis=1, keepdims=True)
    if not np.all(largest):
        row = int(np.argmin(largest[:, 0]))
        raise ValueError(f"{name} must have no all-zero row, got {name}[{row}]=0")
    scaled = rows / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float64)
