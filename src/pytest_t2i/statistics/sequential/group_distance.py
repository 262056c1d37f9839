"""Distance from even shares of groups, looked at again and again while images are made."""

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
"""Steps of a bisection; each halves what is unknown."""


def group_distance_sequence(counts: Mapping[str, int], level: float) -> Interval:
    r"""Interval of a prompt's distance from even shares that holds at all n at once.

    .. math:: \{TV(p) : \prod_i p_i^{n_i} > (1 - level) M(n)\}

    with M the likelihood of the counts under a mixture of shares that is fixed beforehand: half of
    it Dirichlet(1/2, ..., 1/2), half one group with a Beta(1/2, 1/2) share among others that are
    even. M over the likelihood of the true shares is a martingale that starts at 1, and exceeds
    1 / (1 - level) at any time with probability 1 - level or less (Ville 1939; Robbins 1970).

    Args:
        counts: images per group so far, groups without any image included.
        level: in (0, 1); the intervals of all n hold together with at least this probability.

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
    """p-value of a prompt's distance from even shares against a bound, at a stopping time.

    1 / e for the e-value M(n) / (largest likelihood under H0), M as in ``group_distance_sequence``.
    Under H0 the mean of e is at most 1 wherever the making of images is stopped, so
    Benjamini-Hochberg on such values is e-BH (Wang and Ramdas 2022), which holds under any
    dependence.

    Args:
        counts: images per group so far, groups without any image included.
        bound: limit of the distance, in [0, 1].
        alternative: "greater" against "the distance is at most the bound", "less" against "it is
            at least the bound".

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0.

    Raises:
        ValueError: as ``group_distance_sequence``, or bound lies outside [0, 1].

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
    """The largest first: even shares tell no group from another."""
    whole = [int(inputs.whole_counts(f"counts[{name!r}]", n)) for name, n in counts.items()]
    if len(whole) < 2:  # noqa: PLR2004 - nothing to be uneven
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
    """Where something begins to hold, from 0 to ``most``, told a little too small."""
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
    """Largest log-likelihood of shares whose distance from even ones is at most the bound.

    Where the shares seen lie further, those above even give way in proportion to their images,
    and so do those below; what would pass even stays there.
    """
    n = np.array(numbers, dtype=np.float64)
    even = 1.0 / len(n)
    seen = n / n.sum()
    if np.maximum(seen - even, 0.0).sum() <= bound:
        return _log_likelihood(n, seen)
    return _log_likelihood(n, np.where(seen > even, _above(n, even, bound), _below(n, even, bound)))


def _above(n: np.ndarray, even: float, bound: float) -> np.ndarray:
    """Shares max(even, n / l) that lie the bound above even in all; n falls."""
    inside = np.cumsum(n)
    for size in range(1, len(n) + 1):
        scale = inside[size - 1] / (bound + size * even)
        if size == len(n) or n[size] <= even * scale:
            break
    return np.asarray(np.maximum(even, n / scale))


def _below(n: np.ndarray, even: float, bound: float) -> np.ndarray:
    """Shares min(even, n / l) that lie the bound below even in all; n falls."""
    empty = int(np.sum(n == 0))
    if empty * even >= bound:
        # Groups without any image take up all of it; their likelihood is that of no image.
        return np.asarray(np.where(n == 0, even - bound / max(1, empty), even))
    inside = np.cumsum(n[::-1])
    for size in range(empty + 1, len(n) + 1):
        room = size * even - bound
        scale = inside[size - 1] / room if room > 0.0 else np.inf
        if size == len(n) or n[-size - 1] >= even * scale:
            break
    return np.asarray(np.minimum(even, n / scale))


def _most_beyond(numbers: tuple[int, ...], bound: float) -> float:
    """Largest log-likelihood of shares whose distance from even ones is at least the bound.

    Some groups together have the bound more than their even share; of so many groups those with
    the most images.
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
