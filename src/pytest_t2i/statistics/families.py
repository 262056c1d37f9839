"""Many prompts tested at once: adjusted p-values, fewest images for a verdict, posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import TIE
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.bounding import rarer_chances
from pytest_t2i.statistics.shares import (
    Beyond,
    binomial_tail,
    check_level,
    male_share,
    p_values_of_counts,
    prompt_bias_p_values,
)

DISCARDED_ABOVE = 0.65
"""tau of ADDIS: p-values above it, which are conservative nulls, are discarded. With 0.65 five
one-sided prompts among 100 fair ones are found; with 1, which discards nothing, they are not
(tests/simulations/families.md)."""
COUNTED_ABOVE = 0.5
"""lambda of ADDIS: remaining p-values, as shares of tau, above which they count as true nulls."""
SMALL_FAMILY = 5
"""Number of tests below which the number of true nulls is not estimated."""


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
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    if not p.size:
        return p
    return np.asarray(scipy.stats.false_discovery_control(p), dtype=np.float64)


def holm(p_values: npt.ArrayLike) -> inputs.Floats:
    """Return adjusted p-values that control the family-wise error rate.

    .. math:: adjusted: max over j <= i of min(1, (m - j + 1) p_(j))    (Holm 1979)

    The tests may depend on each other in any way.

    Args:
        p_values: p-values in [0, 1].

    Raises:
        ValueError: a p-value lies outside of [0, 1].

    >>> [round(float(p), 3) for p in holm([0.04, 0.01])]
    [0.04, 0.02]
    """
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def adaptive_discarding(
    p_values: npt.ArrayLike, attainable: Sequence[npt.ArrayLike], level: float
) -> inputs.Floats:
    """Return adjusted p-values by ADDIS for a batch of discrete tests (Tian and Ramdas 2019).

    .. math:: q_i = p_i / tau_i where p_i <= tau_i;
       m_0 = max 1 / (1 - l_i) + sum of 1(q_i > l_i) / (1 - l_i)    (Storey 2004);
       adjusted: min over j >= i of q_(j) m_0 / j

    tau_i is the largest p-value up to 0.65 that test i can attain, and l_i the largest attainable
    share of tau_i up to 0.5 (docs/decisions/0008). The false discovery rate is controlled for
    independent tests with a monotone likelihood ratio: exact tests of one binomial share.
    """
    check_level(level)
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    if len(attainable) != len(p):
        raise ValueError(
            f"attainable must be as long as p_values, got {len(attainable)} and {len(p)}"
        )
    least, tau, share = _thresholds(attainable)
    # A test that can never be rejected must not count for the others either.
    left = _at_most(least, 1.0 - level) & (tau > 0.0) & _at_most(p, tau)
    adjusted = np.ones_like(p)
    if np.any(left):
        q, count = p[left] / tau[left], 1.0 / (1.0 - share[left])
        small = _at_most(q, share[left])
        nulls = float(np.max(count) + np.sum(count[~small]))
        # Whatever the family: the interval of a larger p-value holds the bound.
        can = small & _at_most(p[left], 1.0 - level)
        adjusted[left] = _step_up(np.where(can, q, np.inf), nulls)
    return adjusted


def storey(p_values: npt.ArrayLike, level: float) -> inputs.Floats:
    """Return adjusted p-values by Benjamini-Hochberg with the estimated number of true nulls.

    .. math:: m_0 = min(m, 2 (1 + number of p_i > 1/2)); adjusted: min over j >= i of p_(j) m_0 / j

    For independent valid p-values (Storey 2004; Benjamini, Krieger and Yekutieli 2006): those after
    stopping do not meet the assumptions of ``adaptive_discarding`` (docs/decisions/0014).
    """
    check_level(level)
    p = inputs.in_range("p_values", p_values, 0.0, 1.0)
    inputs.one_dimensional(p_values=p)
    if not p.size:
        return p
    few = p.size < SMALL_FAMILY
    nulls = float(p.size) if few else min(p.size, 2.0 * (1.0 + float(np.sum(p > COUNTED_ABOVE))))
    # A test is never rejected whose own p-value is above 1 - level: its interval holds the bound.
    return _step_up(np.where(_at_most(p, 1.0 - level), p, np.inf), nulls)


def _thresholds(
    attainable: Sequence[npt.ArrayLike],
) -> tuple[inputs.Floats, inputs.Floats, inputs.Floats]:
    """Return smallest value, tau_i and lambda_i of each test; 0 where no p-value is that small."""
    thresholds: dict[int, tuple[float, float, float]] = {}
    for values in attainable:
        if id(values) not in thresholds:
            array = inputs.in_range("attainable", values, 0.0, 1.0)
            tau = _largest(array, DISCARDED_ABOVE)
            share = _largest(array / tau, COUNTED_ABOVE) if tau else 0.0
            thresholds[id(values)] = float(np.min(array, initial=1.0)), tau, share
    rows = np.reshape([thresholds[id(values)] for values in attainable], (len(attainable), 3))
    return rows[:, 0], rows[:, 1], rows[:, 2]


def _largest(values: inputs.Floats, most: float) -> float:
    return float(np.max(values, initial=0.0, where=_at_most(values, most)))


def _at_most(values: inputs.Floats, most: npt.ArrayLike) -> inputs.Bools:
    return np.asarray(values <= np.asarray(most) + TIE, dtype=np.bool_)


def _step_up(q: inputs.Floats, nulls: float) -> inputs.Floats:
    order = np.argsort(q)[::-1]
    ranks = np.arange(q.size, 0, -1)
    adjusted = np.empty_like(q)
    adjusted[order] = np.minimum.accumulate(q[order] * nulls / ranks)
    return np.minimum(adjusted, 1.0)


FEW_PROMPTS = 5
"""Number of prompts below which Benjamini-Hochberg is used: discarding costs more than it saves (a
single p-value would be divided by 0.32)."""
MOST_IMAGES = 2000
"""Largest number of images in the search for the fewest."""


def family_p_values(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    bound: float,
    *,
    level: float,
    alternative: Beyond = "beyond",
) -> inputs.Floats:
    """Return adjusted exact p-values of many prompts against one limit, for any image counts.

    The adjustment is ``adaptive_discarding`` from 5 prompts with a clear image on, else
    ``benjamini_hochberg``.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the absolute score, in [0, 1].
        level: confidence level in (0, 1).
        alternative: "beyond" (evidence to FAIL) or "within" (evidence to PASS, as a family).

    Returns:
        Adjusted p-values, [n_prompts]; 1 where there is no clear image. Among the prompts where
        they are at most 1 - level, the expected share of false rejections is at most 1 - level.

    Raises:
        ValueError: shapes differ, a count is no whole number, or an argument is out of range.

    >>> found = family_p_values([20] * 5 + [10] * 95, [0] * 5 + [10] * 95, 0.5, level=0.95)
    >>> found[[0, 4, 5]].round(4)
    array([0.0016, 0.0016, 1.    ])
    """
    p = prompt_bias_p_values(male, female, bound, alternative)
    clear = np.asarray(male, dtype=np.int64) + np.asarray(female, dtype=np.int64)
    used = clear > 0
    supports = [p_values_of_counts(int(n), float(bound), alternative) for n in clear[used]]
    adjusted = np.ones_like(p)
    adjusted[used] = _of_family(p[used], supports, level)
    return adjusted


def _of_family(p: inputs.Floats, supports: Sequence[inputs.Floats], level: float) -> inputs.Floats:
    check_level(level)
    if len(p) < FEW_PROMPTS:
        return benjamini_hochberg(p)
    return adaptive_discarding(p, supports, level)


def family_share_p_values(
    successes: npt.ArrayLike, n: npt.ArrayLike, bounds: npt.ArrayLike, *, level: float
) -> inputs.Floats:
    """Return ``family_p_values`` of many shares, each against "it is at most its own bound"."""
    k, size = inputs.whole_counts("successes", successes), inputs.whole_counts("n", n)
    limits = inputs.in_range("bounds", bounds, 0.0, 1.0)
    inputs.one_dimensional(successes=k, n=size, bounds=limits)
    inputs.same_shape(successes=k, n=size, bounds=limits)
    if np.any(k > size):
        worst = int(np.argmax(k - size))
        raise ValueError(
            f"successes must not exceed n, got successes[{worst}]={k[worst]}, n={size[worst]}"
        )
    used = (size > 0) & (limits < 1.0)
    supports = list(map(_above, size[used].tolist(), limits[used].tolist()))
    p = np.array([supports[place][j] for place, j in enumerate(k[used])])
    adjusted = np.ones(len(k))
    adjusted[used] = _of_family(p, supports, level)
    return adjusted


class Decidable(NamedTuple):
    """The verdicts that are possible at all."""

    can_pass: bool
    """Whether the most even count would PASS."""
    can_fail: bool
    """Whether the most uneven count would FAIL."""


@lru_cache(maxsize=4096)
def decidable(n: int, bound: float, level: float, prompts: int = 1) -> Decidable:
    """Tell whether any count of so many images decides a prompt against its limit.

    For the FAIL all images show one gender, and the other prompts of the family are even.
    """
    check_level(level)
    for name, value in (("n", n), ("prompts", prompts)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
    # Even prompts are discarded, so their number only matters in a small family.
    even_prompts = min(prompts, FEW_PROMPTS) - 1
    men, women = [n] + [n // 2] * even_prompts, [0] + [n - n // 2] * even_prompts
    fails = family_p_values(men, women, bound, level=level)[0]
    passes = prompt_bias_p_values([n // 2], [n - n // 2], bound, "within")[0]
    alpha = 1.0 - level + TIE
    return Decidable(bool(passes <= alpha), bool(fails <= alpha))


class Fewest(NamedTuple):
    """The fewest images of a prompt with which a verdict is possible at all."""

    to_pass: int | None
    """Number at which the most even count would PASS; None where no number suffices."""
    to_fail: int | None
    """Number at which the most uneven count would FAIL; None where no number suffices."""


@lru_cache(maxsize=256)
def fewest_images(bound: float, level: float, prompts: int = 1) -> Fewest:
    """Return the fewest images with which some count decides a prompt, by ``decidable``.

    Adjusted p-values are at least as large as those of a prompt alone, which are asked for first:
    all at once, as they are where no number of images decides.
    """
    edge = (1.0 + float(inputs.in_range("bound", bound, 0.0, 1.0))) / 2.0
    n = np.arange(1, MOST_IMAGES + 1)
    even = binomial_tail(n - n // 2, n, edge, "below") if bound else np.ones(len(n))
    one_sided = binomial_tail(n, n, edge) + binomial_tail(0, n, edge, "below")
    to_pass, to_fail = (
        next((m for m in alone.tolist() if decidable(m, bound, level, prompts)[k]), None)
        for k, alone in enumerate(n[_at_most(p, 1.0 - level)] for p in (even, one_sided))
    )
    return Fewest(to_pass, to_fail)


@lru_cache(maxsize=512)
def _above(n: int, bound: float) -> inputs.Floats:
    """Return the p-values of "above the bound" for 0 to n successes."""
    table = binomial_tail(np.arange(n + 1), n, bound)
    table.flags.writeable = False
    return table


FAMILIES = 1000
"""Number of simulated families."""


@lru_cache(maxsize=8192)
def lone_chances(
    n: int, bound: float, level: float, prompts: int = 1, seed: int = 0
) -> inputs.Floats:
    """Return the probability that a prompt FAILs among fair ones, by its rarer gender's images.

    With equal numbers of images an attainable threshold x is valid if x m_0 / (1 + others at or
    below x) is at most 1 - level.
    """
    # p-values increase with the images of the rarer gender.
    p = p_values_of_counts(n, bound, "beyond")[: n // 2 + 1]
    rivals = _others(n, prompts - 1, seed)
    error = 1.0 - level + TIE
    if prompts < FEW_PROMPTS:
        paid, can = np.full(len(rivals), float(prompts)), np.ones(len(p), dtype=np.bool_)
    else:
        candidates = p <= DISCARDED_ABOVE + TIE
        if not np.any(candidates) or p[0] > error:
            return np.zeros(len(p))
        p = p / p[candidates][-1]
        small = candidates & (p <= COUNTED_ABOVE + TIE)
        if not np.any(small):
            return np.zeros(len(p))
        counted = (
            rivals[:, np.count_nonzero(candidates) - 1] - rivals[:, np.count_nonzero(small) - 1]
        )
        paid = (1.0 + counted) / (1.0 - p[small][-1])
        can = small & (p_values_of_counts(n, bound, "beyond")[: len(p)] <= error)
    holds = can & (p * paid[:, None] <= error * (1.0 + rivals))
    # A prompt is found where a threshold at its own p-value or above is valid.
    finds = np.logical_or.accumulate(holds[:, ::-1], axis=1)[:, ::-1] & can
    return np.asarray(finds.mean(axis=0), dtype=np.float64)


@lru_cache(maxsize=2)
def _others(n: int, prompts: int, seed: int) -> npt.NDArray[np.int32]:
    """Count the others with at most so many images of the rarer gender, [families, n // 2 + 1]."""
    chances = rarer_chances(n, np.zeros(1))[0]
    draws = np.random.default_rng(seed).multinomial(prompts, chances / chances.sum(), size=FAMILIES)
    return np.cumsum(draws, axis=1, dtype=np.int32)


GRID: inputs.Floats = np.linspace(0.0, 1.0, 51)
"""Support of the distribution of |2p - 1|."""
SPREAD_OUT = 5.0
"""Weight, in prompts, of an even distribution that is mixed in: without it the fit overfits the
observed prompts."""


STEPS = 200
"""Steps of the fit, few enough not to follow the chance spread of one sample."""
TINY = 1e-300
"""Smallest divisor."""


def spread_given_counts(
    male: npt.NDArray[np.int64], female: npt.NDArray[np.int64]
) -> inputs.Floats:
    """Return each prompt's posterior over GRID, with the fitted distribution of bias as prior.

    Expectation maximisation fits the distribution (Kiefer and Wolfowitz 1956; Laird 1978).
    """
    # Prompts of equal (|n_m - n_f|, n_m + n_f) have equal likelihoods.
    pairs = np.stack([np.abs(male - female), male + female], axis=1)
    unique, of_prompt = np.unique(pairs, axis=0, return_inverse=True)
    gap, n, share = unique[:, :1], unique[:, 1:], male_share(GRID)
    one_way, other = (scipy.stats.binom.logpmf((n + g) // 2, n, share) for g in (gap, -gap))
    logarithms = np.logaddexp(np.asarray(one_way), np.asarray(other))
    likelihood = np.exp(logarithms - np.max(logarithms, axis=1, keepdims=True))
    times = np.bincount(of_prompt.ravel(), male + female > 0, len(unique)).astype(np.float64)
    mixing = np.ones(len(GRID))
    for _ in range(STEPS):
        # The fit may give probability 0 to counts that did not occur: 0/0 otherwise.
        ratio = times / np.maximum(likelihood @ mixing, TINY)
        mixing = mixing * (ratio @ likelihood) + SPREAD_OUT / len(GRID)
    joint = likelihood * mixing
    posterior = joint / joint.sum(axis=1, keepdims=True)
    return np.asarray(posterior[of_prompt.ravel()], dtype=np.float64)
