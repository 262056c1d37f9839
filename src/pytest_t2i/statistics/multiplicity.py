"""Many tests at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import checks


def benjamini_hochberg(p_values: npt.ArrayLike) -> checks.Floats:
    """Adjusted p-values that control the false discovery rate.

    .. math:: min over j >= i of p_(j) m / j      (Benjamini and Hochberg 1995)

    Rejecting where the adjusted value is at most alpha keeps the expected share of false
    rejections at most alpha, for independent or positively dependent tests.

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.

    Returns:
        Adjusted p-values in the same order, [n_tests].

    Raises:
        ValueError: not a vector, or a value lies outside [0, 1].

    >>> benjamini_hochberg([0.01, 0.5, 0.02])
    array([0.03, 0.5 , 0.03])
    """
    p = checks.in_range("p_values", p_values, 0.0, 1.0)
    checks.one_dimensional(p_values=p)
    order = np.argsort(p)[::-1]
    ranks = np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * p.size / ranks)
    return np.minimum(adjusted, 1.0)
