"""Agreement between raters, and shares of labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.info import register

register(MetricInfo("cohen_kappa", -1.0, 1.0, "lower", "Cohen 1960"))
register(MetricInfo("fleiss_kappa", -1.0, 1.0, "lower", "Fleiss 1971"))


def cohen_kappa(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the agreement of two raters beyond chance.

    .. math:: (p_o - p_e) / (1 - p_e)      (Cohen 1960; used by Lyu section 3.3)

    p_o is the share of equal labels, and p_e the share expected if both raters labelled
    independently.

    Args:
        a: labels by the first rater, [n_items].
        b: labels by the second rater, [n_items].

    Returns:
        Kappa in [-1, 1]: 1 for full agreement, 0 for agreement by chance.

    Raises:
        ValueError: shapes differ, are empty, a label is missing, or both raters gave one and
            the same label throughout (0/0).

    >>> cohen_kappa(["m", "m", "f", "f"], ["m", "f", "f", "f"])
    0.5
    """
    first, second = inputs.labels("a", a), inputs.labels("b", b)
    inputs.same_shape(a=first, b=second)
    inputs.not_empty(a=first)
    by_chance = sum(
        float(np.mean(first == label)) * float(np.mean(second == label))
        for label in set(first.tolist())
    )
    if by_chance >= 1.0:
        raise ValueError(f"a and b hold one label only, so kappa is 0/0: got {first[0]!r}")
    return (float(np.mean(first == second)) - by_chance) / (1.0 - by_chance)


def fleiss_kappa(ratings: npt.ArrayLike) -> float:
    """Return the agreement of two or more raters beyond chance.

    .. math:: (P - P_e) / (1 - P_e),  P_i = (sum_j n_ij^2 - r) / (r (r - 1))      (Fleiss 1971)

    Args:
        ratings: number of raters that gave item i label j, [n_items, n_labels]; every item has the
            same number r of raters.

    Returns:
        Kappa in [-1, 1]: 1 for full agreement, 0 for agreement by chance.

    Raises:
        ValueError: a count is no whole number, items have different numbers of raters or fewer
            than two, or all raters gave one and the same label throughout (0/0).

    >>> round(fleiss_kappa([[3, 0], [0, 3], [2, 1], [1, 2]]), 3)
    0.333
    """
    counts = inputs.whole_counts("ratings", ratings)
    if counts.ndim != 2 or not counts.size:  # noqa: PLR2004 - items and labels
        raise ValueError(f"ratings must be [n_items, n_labels], got ratings.shape={counts.shape}")
    raters = np.unique(counts.sum(axis=1))
    if len(raters) != 1 or raters[0] < 2:  # noqa: PLR2004 - one rater agrees with nobody
        raise ValueError(
            "every item must be rated by the same two or more raters, "
            f"got {raters.tolist()} raters per item"
        )
    r = int(raters[0])
    by_chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    if by_chance >= 1.0:
        raise ValueError("ratings hold one label only, so kappa is 0/0")
    observed = float(np.mean((np.sum(counts**2, axis=1) - r) / (r * (r - 1))))
    return (observed - by_chance) / (1.0 - by_chance)


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each label in the total.

    .. math:: n_l / sum n

    Args:
        counts: number of images per label; leave undetected images out.

    Returns:
        Share per label, in the given order; the shares sum to 1.

    Raises:
        ValueError: a count is negative or not finite, or there is no image at all.

    >>> shares({"male": 15, "female": 5})
    {'male': 0.75, 'female': 0.25}
    """
    numbers = {key: float(inputs.counts(f"counts[{key!r}]", n)) for key, n in counts.items()}
    total = sum(numbers.values())
    if not total:
        raise ValueError(f"counts must hold at least one image, got counts={dict(counts)!r}")
    return {key: number / total for key, number in numbers.items()}
