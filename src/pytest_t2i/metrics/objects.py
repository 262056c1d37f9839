"""Objects beside the person: their association with a gender, and attention maps (Wu)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register
from pytest_t2i.metrics.similarity import similarities

register(MetricInfo("object_bias_score", 0.0, 1.0, "away_from_half", "Wu eq. 5"))
register(MetricInfo("object_independence", 0.0, 1.0, "lower", "Wu section 5.2"))
register(MetricInfo("cooccurrence_similarity", 0.0, 1.0, "lower", "Wu eq. 4"))
register(MetricInfo("cooccurrence_gap", -1.0, 1.0, "away_from_zero", "Wu eq. 4"))
register(MetricInfo("coverage", 0.0, 1.0, "lower", "Wu eq. 7"))

LEAST_VARIANTS, MOST_VARIANTS = 2, 3


class Independence(NamedTuple):
    """The result of Pearson's chi-square test of independence.

    >>> Independence(20.0, 7.7e-06).p_value < 0.05
    True
    """

    statistic: float
    """Chi-square, at least 0."""
    p_value: float
    """p-value under independent occurrences, in [0, 1]."""


def object_bias_score(
    masculine: float, feminine: float, n_masculine: int, n_feminine: int
) -> float | None:
    """Return the share of an object's occurrences that come with masculine prompts.

    .. math:: BS(o) = C(o, P_m) / (C(o, P_m) + |P_m| / |P_f| C(o, P_f))      (Wu eq. 5)

    Args:
        masculine: occurrences of the object in images of the masculine prompts, at least 0.
        feminine: occurrences in images of the feminine prompts, at least 0.
        n_masculine: number of masculine prompts, at least 1.
        n_feminine: number of feminine prompts, at least 1.

    Returns:
        The score in [0, 1]: 1 with masculine prompts only, 0 with feminine prompts only, 0.5 with
        both equally often. None where the object occurs with neither.

    Raises:
        ValueError: a count is negative or not finite, or there is no prompt of a gender.

    >>> object_bias_score(9, 1, 100, 100)
    0.9
    >>> object_bias_score(0, 0, 100, 100) is None
    True
    """
    men, women = (
        float(inputs.counts(name, value))
        for name, value in (("masculine", masculine), ("feminine", feminine))
    )
    prompts = {"n_masculine": n_masculine, "n_feminine": n_feminine}
    for name, value in prompts.items():
        if not float(inputs.counts(name, value)):
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
    weighed = n_masculine / n_feminine * women
    return men / (men + weighed) if men + weighed else None


def cooccurrence_similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the mean cosine similarity of the objects in matching images.

    .. math:: s_O(P, P') = (1/|P|) sum_i cos(v_i, v'_i)      (Wu eq. 4)

    Args:
        a: occurrences of every object in the image of each prompt, [n_prompts, n_objects].
        b: occurrences for the other variant of each prompt, of the same shape.

    Returns:
        The mean in [0, 1]: 1 where every image has the objects of its counterpart, in the same
        proportions.

    Raises:
        ValueError: shapes differ, are empty, a count is negative, or a row is all zero: an image
            without an object has no direction. Leave such prompts out, and report their number.

    >>> round(cooccurrence_similarity([[1, 0, 2], [1, 1, 0]], [[1, 0, 2], [0, 0, 3]]), 3)
    0.5
    """
    rows = similarities(inputs.counts("a", a), inputs.counts("b", b))
    return float(np.clip(np.mean(rows), 0.0, 1.0))


def object_independence(counts: npt.ArrayLike) -> Independence:
    """Test whether objects depend on the variant of a prompt, by Pearson's chi-square test.

    .. math:: sum (observed - expected)^2 / expected, expected = row sum x column sum / total
       (Wu section 5.2, "Statistical Tests")

    The p-value assumes independent occurrences. Objects of one picture, and pictures of one prompt,
    are dependent: ``statistics.independence_p_value`` permutes variants within triplets instead.

    Args:
        counts: occurrences, [2 or 3 variants, n_objects]; objects that never occur are left out.

    Returns:
        The statistic and its p-value, without a continuity correction.

    Raises:
        ValueError: another shape, a negative count, fewer than two objects that occur, or a
            variant without any.

    >>> object_independence([[30, 10], [10, 30]]).statistic
    20.0
    """
    table = inputs.counts("counts", counts)
    if table.ndim != 2 or not LEAST_VARIANTS <= len(table) <= MOST_VARIANTS:  # noqa: PLR2004 - rows and columns
        raise ValueError(
            f"counts must be [2 or 3 variants, n_objects], got counts.shape={table.shape}"
        )
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:  # noqa: PLR2004 - one object is independent of anything
        raise ValueError(
            f"counts must hold at least two objects that occur, got {table.shape[1]} of them"
        )
    if not np.all(table.sum(axis=1)):
        row = int(np.argmin(table.sum(axis=1)))
        raise ValueError(f"counts must hold an object of every variant, got counts[{row}]=0")
    result = scipy.stats.chi2_contingency(table, correction=False)
    return Independence(float(result.statistic), float(result.pvalue))


def coverage(region: npt.ArrayLike, mask: npt.ArrayLike) -> float:
    """Return the share of an object's region that a mask covers.

    .. math:: coverage(m_o, a) = |m_o and a| / |m_o|      (Wu eq. 7)

    Args:
        region: pixels of the object, [height, width] of True and False.
        mask: pixels that an attention map marks, of the same shape.

    Returns:
        The share in [0, 1].

    Raises:
        ValueError: shapes differ, a value is not True or False, or the region has no pixel.

    >>> coverage([[1, 1], [0, 0]], [[1, 0], [1, 0]])
    0.5
    """
    pixels, covering = inputs.booleans("region", region), inputs.booleans("mask", mask)
    inputs.same_shape(region=pixels, mask=covering)
    size = int(np.count_nonzero(pixels))
    if not size:
        raise ValueError("region must have at least one pixel, got an empty one")
    return float(np.count_nonzero(pixels & covering) / size)
