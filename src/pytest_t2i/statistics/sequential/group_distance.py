"""Distance from even shares of groups, examined again and again while images are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, total_variation_distance
from pytest_t2i.statistics.sequential.confidence_sequences import PRIOR
from pytest_t2i.statistics.shares.intervals import check_level

METHOD = "dirichlet sequence"
HALVINGS = 40
"""Number of bisection steps."""


def group_distance_sequence(counts: Mapping[str, int], level: float) -> Interval:
    r"""Return an interval of a prompt's distance from even shares, simultaneous for all n.

    .. math:: \{TV(p) : \prod_i p_i^{n_i} > (1 - level) M(n)\}

    with M the likelihood of the counts under a fixed mixture of shares: half of it Dirichlet(1/2,
    ..., 1/2), half of it one group with a Beta(1/2, 1/2) share and the others even. At the true
    shares, the ratio of M to the likelihood is a martingale with expectation 1, which ever exceeds
    1 / (1 - level) with probability at most 1 - level (Ville 1939; Robbins 1970).

    Args:
        counts: number of images of each group so far; groups without images have a 0.
        level: probability in (0, 1) with which the intervals of all n hold simultaneously.

    Returns:
        Interval in [0, 1 - 1/groups].

    Raises:
        ValueError: there is no image, fewer than two groups, a count is no whole number, or level
            lies outside (0, 1).

    >>> print(group_distance_sequence({"young": 60, "adult": 0, "old": 0}, 0.95))
    0.667 [0.555, 0.667]
    """
    check_level(level)
    numbers = _numbers(counts)
    estimate = total_variation_distance(counts, dict.fromkeys(counts, 1.0 / len(counts)))
    low, high = _ends(numbers, 1.0 - level)
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, METHOD, int(sum(numbers))
    )


def group_distance_sequence_p_value(
    counts: Mapping[str, int], bound: float, alternative: Literal["greater", "less"] = "greater"
) -> float:
    """Return an anytime-valid p-value of a prompt's distance from even shares against a bound.

    The p-value is min(1, 1 / e) for the e-value M(n) / (largest likelihood under H0), with M as in
    ``group_distance_sequence``. Under H0 the expectation of e is at most 1 at every stopping time,
    so Benjamini-Hochberg on such p-values is e-BH (Wang and Ramdas 2022), which holds under any
    dependence.

    Args:
        counts: number of images of each group so far; groups without images have a 0.
        bound: limit of the distance, in [0, 1].
        alternative: "greater" against "the distance is at most the bound", "less" against "the
            distance is at least the bound".

    Returns:
        p-value in [0, 1]; under H0 it ever falls to alpha with probability at most alpha.

    Raises:
        ValueError: as in ``group_distance_sequence``, or bound lies outside [0, 1].

    >>> group_distance_sequence_p_value({"young": 60, "adult": 0, "old": 0}, 0.4) < 0.001
    True
    >>> group_distance_sequence_p_value({"young": 20, "adult": 20, "old": 20}, 0.4)
    1.0
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    largest = _most_within if alternative == "greater" else _most_beyond
    numbers = _numbers(counts)
    return math.exp(min(0.0, largest(numbers, limit) - _log_mixture(numbers)))


def _numbers(counts: Mapping[str, int]) -> tuple[int, ...]:
    """Return the counts in descending order: the reference is even, so names do not matter."""
    whole = [int(inputs.whole_counts(f"counts[{name!r}]", n)) for name, n in counts.items()]
    if len(whole) < 2:  # noqa: PLR2004 - one group cannot be uneven
        raise ValueError(f"counts must hold two groups or more, got {list(counts)}")
    if not sum(whole):
        raise ValueError("counts hold no image: no image is no evidence")
    return tuple(sorted(whole, reverse=True))


@lru_cache(maxsize=8192)
def _ends(numbers: tuple[int, ...], error: float) -> tuple[float, float]:
    least = _log_mixture(numbers) + math.log(error)
    most = 1.0 - 1.0 / len(numbers)
    low = _first(lambda bound: _most_within(numbers, bound) > least, most)
    high = most - _first(lambda room: _most_beyond(numbers, most - room) > least, most)
    return low, high


def _first(holds: Callable[[float], bool], most: float) -> float:
    """Return where a condition begins to hold, from 0 to ``most``, rounded down."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


@lru_cache(maxsize=8192)
def _log_mixture(numbers: tuple[int, ...]) -> float:
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

    Where the observed shares lie further, those above even shrink in proportion to their images,
    and those below grow alike; no share crosses the even one.
    """
    n = np.array(numbers, dtype=np.float64)
    even = 1.0 / len(n)
    seen = n / n.sum()
    if np.maximum(seen - even, 0.0).sum() <= bound:
        return _log_likelihood(n, seen)
    return _log_likelihood(n, np.where(seen > even, _above(n, even, bound), _below(n, even, bound)))


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

    A set of groups together exceeds its even share by the bound; for each size of the set, the best
    one has the groups with the most images.
    """
    n = np.array(numbers, dtype=np.float64)
    total, groups = float(n.sum()), len(n)
    best = -math.inf
    for size in range(1, groups):
        wanted = size / groups + bound
        if wanted > 1.0 + 1e-12:
            break
        inside = float(n[:size].sum())
        share = min(1.0, max(inside / total, wanted))
        within = _log_likelihood(n[:size], n[:size] / inside) if inside else 0.0
        outside = total - inside
        beyond = _log_likelihood(n[size:], n[size:] / outside) if outside else 0.0
        moved = scipy.special.xlogy(inside, share) + scipy.special.xlog1py(outside, -share)
        best = max(best, within + beyond + float(moved))
    return best


def _log_likelihood(n: np.ndarray, shares: np.ndarray) -> float:
    return float(np.sum(scipy.special.xlogy(n, shares)))
