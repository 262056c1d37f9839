"""Many tests at once: their shared false discovery rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level

DISCARDED_ABOVE = 0.65
"""tau of ADDIS: p-values above it speak so much for their null hypothesis that they are left out.
With 0.65 five one-sided prompts among 100 fair ones are seen; with 1, which discards nothing, not
(tests/simulations/families.md)."""
CARRIED = 2.0
"""A family of clear cases carries tests along whose own p-values are up to so many times 1 - level,
provided that their images could have spoken for themselves."""
COUNTED_ABOVE = 0.5
"""lambda of ADDIS: p-values left, as shares of tau, above which they count as true nulls."""
SMALL_FAMILY = 5
"""Tests below which the number of nulls among them is not estimated."""
ROUNDING = 1e-12


def benjamini_hochberg(p_values: npt.ArrayLike) -> inputs.Floats:
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
    return _controlled(p_values, "bh")


def benjamini_yekutieli(p_values: npt.ArrayLike) -> inputs.Floats:
    """Adjusted p-values that control the false discovery rate under any dependence.

    .. math:: min over j >= i of p_(j) m (1 + 1/2 + ... + 1/m) / j   (Benjamini, Yekutieli 2001)

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.

    Returns:
        Adjusted p-values in the same order, [n_tests].

    Raises:
        ValueError: not a vector, or a value lies outside [0, 1].

    >>> benjamini_yekutieli([0.01, 0.5, 0.02])
    array([0.055     , 0.91666667, 0.055     ])
    """
    return _controlled(p_values, "by")


def _controlled(p_values: npt.ArrayLike, method: Literal["bh", "by"]) -> inputs.Floats:
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    if not p.size:
        return p
    return np.asarray(scipy.stats.false_discovery_control(p, method=method), dtype=np.float64)


def holm(p_values: npt.ArrayLike) -> inputs.Floats:
    """Adjusted p-values that control the chance of any false rejection.

    .. math:: max over j <= i of (m - j + 1) p_(j)      (Holm 1979)

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.

    Returns:
        Adjusted p-values in the same order, [n_tests], at most 1.

    Raises:
        ValueError: not a vector, or a value lies outside [0, 1].

    >>> holm([0.01, 0.5, 0.02])
    array([0.03, 0.5 , 0.04])
    """
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def adaptive_discarding(
    p_values: npt.ArrayLike,
    attainable: Sequence[npt.ArrayLike],
    level: float,
    *,
    weakest: float | None = None,
) -> inputs.Floats:
    """Adjusted p-values by ADDIS for a batch of discrete tests (Tian and Ramdas 2019; Storey 2004).

    Where most tests have nothing to find, their p-values lie near 1, and plain Benjamini-Hochberg
    pays for each of them. Here p-values above tau are discarded; the others, divided by tau, are
    p-values still (given that they were kept); of these the ones above lambda tell how many true
    nulls are among them, and Benjamini-Hochberg pays for that many.

    .. math:: q_i = p_i / tau_i where p_i <= tau_i;
       m_0 = max 1 / (1 - l_i) + sum of 1(q_i > l_i) / (1 - l_i);
       adjusted: min over j >= i of q_(j) m_0 / j

    tau_i is the largest p-value up to 0.65 that test i can attain, l_i the largest share of tau_i
    up to 0.5: at thresholds that no count attains, nulls would be taken for findings. As 1/x is
    convex, unequal l_i make m_0 no smaller on average than equal ones would (docs/decisions/0008).

    It holds for independent tests whose p-values are those of a statistic with a monotone
    likelihood ratio at the edge of its null hypothesis: the exact tests of one binomial share
    (``prompt_bias_p_value``, ``stereotype_p_value``). For others use ``benjamini_hochberg``.

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.
        attainable: for each test, all p-values that its images can give; tests with the same may
            share one array.
        level: confidence level in (0, 1).
        weakest: largest p-value of a test's own that may be rejected, whatever the others show, in
            [0, 1]. None for 2 (1 - level), and only for tests whose smallest attainable value is at
            most 1 - level. The error rate holds for any such rule that no outcome enters: a family
            of clear cases carries weaker ones along (18:2 images against 0.5, p = 0.09).

    Returns:
        Adjusted p-values, [n_tests]: rejecting where they are at most 1 - level keeps the expected
        share of false rejections at most that. 1 for tests that cannot be rejected.

    Raises:
        ValueError: lengths differ, a value lies outside [0, 1], or level outside (0, 1).

    >>> twenty = [0.0032, 0.0243, 0.0913, 0.2252, 0.4148, 0.6172, 1.0]
    >>> adaptive_discarding([0.0032] * 5 + [1.0] * 95, [twenty] * 100, 0.95)[:2].round(4)
    array([0.0016, 0.0016])
    >>> float(benjamini_hochberg([0.0032] * 5 + [1.0] * 95)[0])
    0.064
    """
    check_level(level)
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    if len(attainable) != len(p):
        raise ValueError(
            f"attainable must be as long as p_values, got {len(attainable)} and {len(p)}"
        )
    least, tau, share = _thresholds(attainable)
    most = _most(least, level, weakest)
    # A test that can never be rejected says nothing of the others either.
    left = _at_most(least, most) & (tau > 0.0) & _at_most(p, tau)
    adjusted = np.ones_like(p)
    if np.any(left):
        q, count = p[left] / tau[left], 1.0 / (1.0 - share[left])
        small = _at_most(q, share[left])
        nulls = float(np.max(count) + np.sum(count[~small]))
        can = small & _at_most(p[left], most[left])
        adjusted[left] = _step_up(np.where(can, q, np.inf), nulls)
    return adjusted


def storey(p_values: npt.ArrayLike, level: float) -> inputs.Floats:
    """Adjusted p-values by Benjamini-Hochberg that pays for the true nulls alone (Storey 2004).

    .. math:: m_0 = min(m, 2 (1 + number of p_i > 1/2)); adjusted: min over j >= i of p_(j) m_0 / j

    It holds for independent p-values, whatever their distribution under their null hypotheses
    (Benjamini, Krieger and Yekutieli 2006); those above twice 1 - level are not rejected. Fewer
    than five are adjusted by Benjamini-Hochberg. Nothing is discarded: ``adaptive_discarding``
    asks for more than a p-value after stopping fulfils (docs/decisions/0014).

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.
        level: confidence level in (0, 1).

    Returns:
        Adjusted p-values, [n_tests]; 1 for tests that are not rejected whatever the others show.

    Raises:
        ValueError: not a vector, a value lies outside [0, 1], or level outside (0, 1).

    >>> storey([0.002] * 3 + [0.04] + [1.0] * 6, 0.95).round(3)[:4]
    array([0.007, 0.007, 0.007, 0.1  ])
    """
    check_level(level)
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    if not p.size:
        return p
    few = p.size < SMALL_FAMILY
    nulls = float(p.size) if few else min(p.size, 2.0 * (1.0 + float(np.sum(p > COUNTED_ABOVE))))
    weakest = (1.0 if few else CARRIED) * (1.0 - level)
    return _step_up(np.where(_at_most(p, weakest), p, np.inf), nulls)


def _most(least: inputs.Floats, level: float, weakest: float | None) -> inputs.Floats:
    """The largest p-value of each test's own that may be rejected; -1 where its images are few."""
    if weakest is not None:
        return np.full(least.shape, float(inputs.in_range("weakest", weakest, 0.0, 1.0)))
    return np.where(_at_most(least, 1.0 - level), CARRIED * (1.0 - level), -1.0)


def _thresholds(
    attainable: Sequence[npt.ArrayLike],
) -> tuple[inputs.Floats, inputs.Floats, inputs.Floats]:
    """Smallest value, tau_i and lambda_i of each test; 0 where no p-value is small enough."""
    known: dict[int, tuple[float, float, float]] = {}
    for values in attainable:
        if id(values) not in known:
            array = inputs.in_range("attainable", values, 0.0, 1.0)
            tau = _largest(array, DISCARDED_ABOVE)
            share = _largest(array / tau, COUNTED_ABOVE) if tau else 0.0
            known[id(values)] = float(np.min(array, initial=1.0)), tau, share
    rows = np.reshape([known[id(values)] for values in attainable], (len(attainable), 3))
    return rows[:, 0], rows[:, 1], rows[:, 2]


def _largest(values: inputs.Floats, most: float) -> float:
    return float(np.max(values, initial=0.0, where=_at_most(values, most)))


def _at_most(values: inputs.Floats, most: npt.ArrayLike) -> inputs.Bools:
    return np.asarray(values <= np.asarray(most) + ROUNDING, dtype=np.bool_)


def _step_up(q: inputs.Floats, nulls: float) -> inputs.Floats:
    order = np.argsort(q)[::-1]
    ranks = np.arange(q.size, 0, -1)
    adjusted = np.empty_like(q)
    adjusted[order] = np.minimum.accumulate(q[order] * nulls / ranks)
    return np.minimum(adjusted, 1.0)
