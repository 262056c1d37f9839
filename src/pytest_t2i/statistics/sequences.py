"""Evidence that may be examined again and again while images are made.

An interval for a fixed n holds at one n chosen beforehand. Examined after every round, and stopped
at will, it errs far more often than its level states. The intervals of this module hold at all n
simultaneously (docs/decisions/0006-early-stopping.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy

from pytest_t2i.data import Interval, Prone
from pytest_t2i.metrics import inputs, total_variation_distance
from pytest_t2i.statistics.shares import (
    as_bias,
    bisected,
    check_level,
    check_pair,
    check_share,
    containing,
    excess,
    in_direction,
)

METHOD = "beta-binomial sequence"
PRIOR = 0.5
"""Both parameters of the Beta mixture (Jeffreys): it has weight at the ends, where biased models
are."""
FIRST_LOOKS, GROWTH = (2, 4), 1.5
"""Two images are the fewest that can agree; from 4 on, each round adds half as many images as there
are."""


def looks(images: int) -> tuple[int, ...]:
    """Return the images per prompt at which a test is evaluated: 2, 4, then half as many again."""
    if images < 1:
        raise ValueError(f"images must be at least 1, got images={images!r}")
    result = list(FIRST_LOOKS)
    while result[-1] < images:
        result.append(math.ceil(result[-1] * GROWTH))
    return (*(entry for entry in result if entry < images), images)


def prompt_bias_sequence(male: int, female: int, level: float) -> Interval:
    """Return an interval of a prompt bias score, 2p - 1, that holds at all n simultaneously."""
    men, women = check_pair(male, female)
    check_level(level)
    return as_bias(sequence(men, men + women, level), men, women)


def stereotype_sequence(
    present: int, n: int, expected: float, level: float, direction: Prone = "over"
) -> Interval:
    """Return an interval of a stereotype score (OASIS eq. 3) that holds at all n simultaneously."""
    k, size, real = in_direction(*check_share(present, n, level), expected, direction)
    return excess(sequence(k, size, level), real)


def bias_sequence_p_value(male: int, female: int, bound: float) -> float:
    """Return an anytime-valid p-value against "the absolute prompt bias score is within the bound".

    .. math:: e = int p^k (1 - p)^(n - k) dJ(p) / max over H0 of p^k (1 - p)^(n - k)

    with J the Beta(1/2, 1/2) mixture beyond the bound: E e <= 1 under H0 at every stopping time.
    Benjamini-Hochberg on min(1, 1/e) is e-BH (Wang and Ramdas 2022), valid under any dependence.
    """
    men, women = check_pair(male, female)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    return _p_value(men, men + women, (1.0 - limit) / 2.0, (1.0 + limit) / 2.0)


def stereotype_sequence_p_value(
    present: int, n: int, expected: float, bound: float, direction: Prone = "over"
) -> float:
    """Return ``bias_sequence_p_value`` against "the stereotype score is at most the bound"."""
    k, size, real = in_direction(*check_share(present, n, 0.5), expected, direction)
    return _p_value(k, size, 0.0, real + float(inputs.in_range("bound", bound, 0.0, 1.0)))


@lru_cache(maxsize=8192)
def sequence(k: int, n: int, level: float) -> Interval:
    """Return an interval of a share that holds at all n simultaneously (confidence sequence).

    .. math:: {p : B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) < p^k (1 - p)^(n - k) / (1 - level)}

    (Ville 1939; Robbins 1970; the mixture of Howard et al. 2021, section 3.2)
    """
    threshold = _log_mixture(k, n) + math.log(1.0 - level)

    def above(p: float) -> float:
        return _log_likelihood(k, n, p) - threshold

    share = k / n
    low = 0.0 if k == 0 else float(scipy.optimize.brentq(above, 0.0, share, xtol=1e-12))
    high = 1.0 if k == n else float(scipy.optimize.brentq(above, share, 1.0, xtol=1e-12))
    return Interval(share, low, high, level, METHOD, n)


@lru_cache(maxsize=8192)
def _p_value(k: int, n: int, low: float, high: float) -> float:
    """Return 1 / e against "p lies in [low, high]", at most 1."""
    if low <= 0.0 and high >= 1.0:
        return 1.0
    beyond = _beyond(PRIOR, PRIOR, low, high)
    left = _beyond(k + PRIOR, n - k + PRIOR, low, high)
    if beyond <= 0.0 or left <= 0.0:
        return 1.0
    evidence = _log_mixture(k, n) + math.log(left / beyond)
    against = _log_likelihood(k, n, min(max(k / n, low), high))
    return math.exp(min(0.0, against - evidence))


def _beyond(a: float, b: float, low: float, high: float) -> float:
    """Return the probability of Beta(a, b) outside [low, high]."""
    above = scipy.special.betainc(b, a, max(0.0, 1.0 - high))
    return float(above + (scipy.special.betainc(a, b, max(0.0, low))))


def _log_mixture(k: int, n: int) -> float:
    return float(
        scipy.special.betaln(k + PRIOR, n - k + PRIOR) - scipy.special.betaln(PRIOR, PRIOR)
    )


def _log_likelihood(k: int, n: int, p: float) -> float:
    # Finite at the ends instead of log 0, so that a root can be bracketed by them.
    result = float(scipy.special.xlogy(k, p) + scipy.special.xlog1py(n - k, -p))
    return max(result, -1e300)


GROUP_METHOD = "dirichlet sequence"
GROUP_HALVINGS = 40


def group_distance_sequence(counts: Mapping[str, int], level: float) -> Interval:
    r"""Return an interval of a prompt's distance from even shares, simultaneous for all n.

    .. math:: \{TV(p) : \prod_i p_i^{n_i} > (1 - level) M(n)\}

    with M the likelihood under a mixture: half Dirichlet(1/2, ..., 1/2), half one group with a
    Beta(1/2, 1/2) share and the others even (Ville 1939; Robbins 1970).
    """
    check_level(level)
    numbers = _numbers(counts)
    estimate = total_variation_distance(counts, dict.fromkeys(counts, 1.0 / len(counts)))
    return containing(estimate, _ends(numbers, 1.0 - level), level, GROUP_METHOD, int(sum(numbers)))


def group_distance_sequence_p_value(
    counts: Mapping[str, int], bound: float, alternative: Literal["greater", "less"] = "greater"
) -> float:
    """Return an anytime-valid p-value of a prompt's distance from even shares against a bound.

    min(1, 1 / e), e = M(n) / (largest likelihood under H0): e-BH, as ``bias_sequence_p_value``.
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    largest = _most_within if alternative == "greater" else _most_beyond
    numbers = _numbers(counts)
    return math.exp(min(0.0, largest(numbers, limit) - _log_group_mixture(numbers)))


def _numbers(counts: Mapping[str, int]) -> tuple[int, ...]:
    """Return the counts in descending order: the reference is even, so names do not matter."""
    numbers = [int(inputs.whole_counts(f"counts[{name!r}]", n)) for name, n in counts.items()]
    if len(numbers) < 2:  # noqa: PLR2004 - one group cannot be uneven
        raise ValueError(f"counts must hold two groups or more, got {list(counts)}")
    if not sum(numbers):
        raise ValueError("counts hold no image: no image is no evidence")
    return tuple(sorted(numbers, reverse=True))


@lru_cache(maxsize=8192)
def _ends(numbers: tuple[int, ...], error: float) -> tuple[float, float]:
    least = _log_group_mixture(numbers) + math.log(error)
    most = 1.0 - 1.0 / len(numbers)
    low = _first(lambda bound: _most_within(numbers, bound) > least, most)
    high = most - _first(lambda room: _most_beyond(numbers, most - room) > least, most)
    return low, high


def _first(holds: Callable[[float], bool], most: float) -> float:
    """Return where a condition begins to hold, from 0 to ``most``, rounded down."""
    return 0.0 if holds(0.0) else bisected(holds, 0.0, most, GROUP_HALVINGS)[0]


@lru_cache(maxsize=8192)
def _log_group_mixture(numbers: tuple[int, ...]) -> float:
    n = np.array(numbers, dtype=np.float64)
    groups, total = len(n), n.sum()
    dirichlet = float(
        np.sum(scipy.special.gammaln(n + PRIOR))
        - groups * scipy.special.gammaln(PRIOR)
        + scipy.special.gammaln(groups * PRIOR)
        - scipy.special.gammaln(total + groups * PRIOR)
    )
    alone = (
        scipy.special.betaln(n + PRIOR, total - n + PRIOR)
        - scipy.special.betaln(PRIOR, PRIOR)
        - (total - n) * math.log(groups - 1)
        - math.log(groups)
    )
    return float(scipy.special.logsumexp([dirichlet, *alone])) - math.log(2.0)


def _most_within(numbers: tuple[int, ...], bound: float) -> float:
    """Return the largest log-likelihood of shares at most the bound away from even ones.

    Shares above even shrink in proportion to their images, those below grow alike; none crosses it.
    """
    n = np.array(numbers, dtype=np.float64)
    even = 1.0 / len(n)
    shares = n / n.sum()
    if np.maximum(shares - even, 0.0).sum() > bound:
        shares = np.where(shares > even, _above(n, even, bound), _below(n, even, bound))
    return _log_of_shares(n, shares)


def _above(n: np.ndarray, even: float, bound: float) -> np.ndarray:
    """Return shares max(even, n / l) above even ones by the bound in total; n descends."""
    inside = np.cumsum(n)
    for size in range(1, len(n) + 1):
        scale = inside[size - 1] / (bound + size * even)
        if size == len(n) or n[size] <= even * scale:
            break
    return np.asarray(np.maximum(even, n / scale))


def _below(n: np.ndarray, even: float, bound: float) -> np.ndarray:
    """Return shares min(even, n / l) below even ones by the bound in total; n descends."""
    empty = int(np.sum(n == 0))
    if empty * even >= bound:
        # Groups without images take up the whole bound, at no cost in likelihood.
        return np.asarray(np.where(n == 0, even - bound / max(1, empty), even))
    inside = np.cumsum(n[::-1])
    for size in range(empty + 1, len(n) + 1):
        room = size * even - bound
        scale = inside[size - 1] / room if room > 0.0 else np.inf
        if size == len(n) or n[-size - 1] >= even * scale:
            break
    return np.asarray(np.minimum(even, n / scale))


def _most_beyond(numbers: tuple[int, ...], bound: float) -> float:
    """Return the largest log-likelihood of shares at least the bound away from even ones.

    A set of groups exceeds its even share by the bound: for each size those with the most images.
    """
    n = np.array(numbers, dtype=np.float64)
    total, groups = float(n.sum()), len(n)
    best = -math.inf
    for size in range(1, groups):
        least_share = size / groups + bound
        if least_share > 1.0 + 1e-12:
            break
        inside = float(n[:size].sum())
        share = min(1.0, max(inside / total, least_share))
        within = _log_of_shares(n[:size], n[:size] / inside) if inside else 0.0
        outside = total - inside
        beyond = _log_of_shares(n[size:], n[size:] / outside) if outside else 0.0
        moved = scipy.special.xlogy(inside, share) + scipy.special.xlog1py(outside, -share)
        best = max(best, within + beyond + float(moved))
    return best


def _log_of_shares(n: np.ndarray, shares: np.ndarray) -> float:
    return float(np.sum(scipy.special.xlogy(n, shares)))
