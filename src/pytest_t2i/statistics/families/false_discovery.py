"""Adjusted p-values of many tests, for the false discovery rate or the family-wise error rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level

DISCARDED_ABOVE = 0.65
"""tau of ADDIS: p-values above it, which are conservative nulls, are discarded. With 0.65 five
one-sided prompts among 100 fair ones are found; with 1, which discards nothing, they are not
(tests/simulations/families.md)."""
CARRIED = 2.0
"""Factor of 1 - level up to which a test's own p-value may be rejected, where clear cases of the
family make up for it and the test's images could have been significant on their own. Without this
cap a prompt at its limit among 95 one-sided ones fails in 23 % of runs with 20 images, with it in
9 %; the false discovery rate alone allows it (tests/simulations/families.md). It costs .006 of the
decided prompts of SDXL at 20 images, .02 at 40."""
COUNTED_ABOVE = 0.5
"""lambda of ADDIS: remaining p-values, as shares of tau, above which they count as true nulls."""
SMALL_FAMILY = 5
"""Number of tests below which the number of true nulls is not estimated."""
ROUNDING = 1e-12


def benjamini_hochberg(p_values: npt.ArrayLike) -> inputs.Floats:
    """Return adjusted p-values that control the false discovery rate (Benjamini and Hochberg).

    .. math:: min over j >= i of p_(j) m / j      (Benjamini and Hochberg 1995)

    Rejecting where the adjusted value is at most alpha keeps the expected share of false rejections
    at most alpha, for independent or positively dependent tests (PRDS).

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
    """Return adjusted p-values that control the false discovery rate under any dependence.

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
    """Return adjusted p-values that control the family-wise error rate under any dependence.

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
    """Return adjusted p-values by ADDIS for a batch of discrete tests (Tian and Ramdas 2019).

    Most p-values of true nulls here are conservative and lie near 1, and plain Benjamini-Hochberg
    pays for each of them. ADDIS discards p-values above tau; the others, divided by tau, are valid
    p-values given that they were kept. The number of those above lambda estimates the number of
    true nulls m_0 (Storey 2004), and Benjamini-Hochberg is applied with m_0.

    .. math:: q_i = p_i / tau_i where p_i <= tau_i;
       m_0 = max 1 / (1 - l_i) + sum of 1(q_i > l_i) / (1 - l_i);
       adjusted: min over j >= i of q_(j) m_0 / j

    tau_i is the largest p-value up to 0.65 that test i can attain, and l_i the largest attainable
    share of tau_i up to 0.5: thresholds that no count attains would bias m_0 downwards. As 1/x is
    convex, unequal l_i make m_0 no smaller on average than equal ones would (docs/decisions/0008).

    The false discovery rate is controlled for independent tests whose p-values are those of a
    statistic with a monotone likelihood ratio at the edge of its null hypothesis: the exact tests
    of one binomial share (``prompt_bias_p_value``, ``stereotype_p_value``). For others use
    ``benjamini_hochberg``.

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.
        attainable: all attainable p-values of each test; tests may share one array.
        level: confidence level in (0, 1).
        weakest: largest unadjusted p-value that may be rejected, in [0, 1]. None for 2 (1 - level),
            and only for tests whose smallest attainable value is at most 1 - level. The error rate
            holds for any such rule that does not depend on outcomes. With the default, clear cases
            of a family make the rejection of weaker ones possible (18:2 images against 0.5,
            p = 0.09).

    Returns:
        Adjusted p-values, [n_tests]: rejecting where they are at most 1 - level keeps the expected
        share of false rejections at most 1 - level. 1 for tests that cannot be rejected.

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
    # A test that can never be rejected must not count for the others either.
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
    """Return adjusted p-values by Benjamini-Hochberg with the estimated number of true nulls.

    .. math:: m_0 = min(m, 2 (1 + number of p_i > 1/2)); adjusted: min over j >= i of p_(j) m_0 / j

    The procedure (Storey 2004) controls the false discovery rate for independent valid p-values
    (Benjamini, Krieger and Yekutieli 2006); p-values above twice 1 - level are not rejected. Fewer
    than five are adjusted by Benjamini-Hochberg. Nothing is discarded: p-values after stopping do
    not meet the assumptions of ``adaptive_discarding`` (docs/decisions/0014).

    Args:
        p_values: one p-value per test, [n_tests]; may be empty.
        level: confidence level in (0, 1).

    Returns:
        Adjusted p-values, [n_tests]; 1 for tests that cannot be rejected.

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
    """Return each test's largest rejectable p-value; -1 for a test with too few images."""
    if weakest is not None:
        return np.full(least.shape, float(inputs.in_range("weakest", weakest, 0.0, 1.0)))
    return np.where(_at_most(least, 1.0 - level), CARRIED * (1.0 - level), -1.0)


def _thresholds(
    attainable: Sequence[npt.ArrayLike],
) -> tuple[inputs.Floats, inputs.Floats, inputs.Floats]:
    """Return smallest value, tau_i and lambda_i of each test; 0 where no p-value is that small."""
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
