"""Shares of images: intervals, p-values and differences of two shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval, Prone
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.stereotypes import check_direction


def exact_ends(
    successes: npt.ArrayLike, n: npt.ArrayLike, tail: float
) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the shares at which the tail of each count is ``tail`` (Clopper and Pearson 1934)."""
    k, size = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    low = scipy.stats.beta.ppf(tail, np.maximum(k, 1.0), size - k + 1.0)
    high = scipy.stats.beta.isf(tail, k + 1.0, np.maximum(size - k, 1.0))
    return np.where(k == 0.0, 0.0, low), np.where(k == size, 1.0, high)


def share_interval(successes: int, n: int, level: float) -> Interval:
    """Return the exact (Clopper-Pearson) interval of a share: it covers with at least the level.

    .. math:: [B(a/2; k, n-k+1), B(1-a/2; k+1, n-k)], B the Beta quantile, a = 1 - level
       (Clopper and Pearson 1934)

    Each end misses the share with probability at most a/2, whatever the share.

    Args:
        successes: number of images that show the trait.
        n: number of images.
        level: confidence level in (0, 1).

    Returns:
        Interval in [0, 1]; low is exactly 0 at 0/n, high exactly 1 at n/n.

    Raises:
        ValueError: n is 0 (no evidence), successes exceed n, or level lies outside (0, 1).

    >>> print(share_interval(20, 20, 0.95))
    1.000 [0.832, 1.000]
    """
    k, size = check_share(successes, n, level)
    low, high = map(float, exact_ends(k, size, (1.0 - level) / 2.0))
    return Interval(k / size, low, high, level, "clopper-pearson", size)


def prompt_bias_interval(male: int, female: int, level: float) -> Interval:
    """Return the exact interval of a prompt bias score, 2p - 1 for the share p of male images.

    It is that of the share of independent images (Clopper and Pearson 1934).

    Args:
        male: number of clear images that show a man.
        female: number of clear images that show a woman.
        level: confidence level in (0, 1).

    Returns:
        Interval in [-1, 1].

    Raises:
        ValueError: there is no clear image, a count is no whole number, or level is not in (0, 1).

    >>> print(prompt_bias_interval(10, 10, 0.95))
    0.000 [-0.456, 0.456]
    """
    men, women = _check_pair(male, female)
    return as_bias(share_interval(men, men + women, level), men, women)


def as_bias(share: Interval, men: int, women: int) -> Interval:
    """Return the interval of 2p - 1 from that of the share p of men."""
    estimate, n = (men - women) / (men + women), men + women
    low, high = 2.0 * share.low - 1.0, 2.0 * share.high - 1.0
    return Interval(estimate, low, high, share.level, share.method, n)


def stereotype_interval(
    present: int, n: int, expected: float, level: float, direction: Prone = "over"
) -> Interval:
    """Return the interval of a stereotype score (OASIS eq. 3), from that of the share."""
    k, size, real = in_direction(*check_share(present, n, level), expected, direction)
    return excess(share_interval(k, size, level), real)


def in_direction(k: int, n: int, expected: float, direction: Prone) -> tuple[int, int, float]:
    """Return counts and expected share of the attribute, or of its absence for "under"."""
    check_direction(direction)
    real = float(inputs.in_range("expected", expected, 0.0, 1.0))
    return (n - k, n, 1.0 - real) if direction == "under" else (k, n, real)


def excess(share: Interval, expected: float) -> Interval:
    """Return the interval of the amount by which a share exceeds the expected one, at least 0."""
    low, middle, high = (max(0.0, x - expected) for x in (share.low, share.estimate, share.high))
    return Interval(middle, low, high, share.level, share.method, share.n)


def containing(
    estimate: float, ends: tuple[float, float], level: float, method: str, n: int
) -> Interval:
    """Return an interval between these ends, widened to hold its estimate."""
    return Interval(estimate, min(ends[0], estimate), max(ends[1], estimate), level, method, n)


def check_level(level: float) -> None:
    """Raise a ValueError for a confidence level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got level={level!r}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise a ValueError for a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {name}={value!r}")


def bisected(
    holds: Callable[[float], bool], low: float, high: float, halvings: int
) -> tuple[float, float]:
    """Return the ends between which a condition begins to hold, from ``low`` to ``high``."""
    for _ in range(halvings):
        middle = (low + high) / 2.0
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def check_share(successes: int, n: int, level: float) -> tuple[int, int]:
    """Return both counts as integers; raise a ValueError where they make no share."""
    check_level(level)
    k, size = _whole("successes", successes), _whole("n", n)
    if size == 0:
        raise ValueError("n must be at least 1, got n=0: no image is no evidence")
    if k > size:
        raise ValueError(f"successes must not exceed n, got successes={k}, n={size}")
    return k, size


def male_share(bias: npt.ArrayLike) -> inputs.Floats:
    """Return the share of male images, p, from the expected prompt bias score, 2p - 1."""
    return np.asarray((1.0 + np.asarray(bias, dtype=np.float64)) / 2.0, dtype=np.float64)


def _check_pair(male: int, female: int) -> tuple[int, int]:
    """Return both counts as integers; raise a ValueError where there is no clear image."""
    men, women = _whole("male", male), _whole("female", female)
    if men + women == 0:
        raise ValueError("male and female must not both be 0: no clear image is no evidence")
    return men, women


def _whole(name: str, value: int) -> int:
    array = inputs.whole_counts(name, value)
    if np.ndim(array):
        raise ValueError(f"{name} must be a single number, got {name}.shape={array.shape}")
    return int(array)


Beyond = Literal["beyond", "within"]
BEYOND = ("beyond", "within")
"""The alternative hypothesis of a p-value: the score lies beyond its limit, or within it."""
Above = Literal["above", "below"]
"""The alternative hypothesis of a p-value: the share lies above its limit, or below it."""


def binomial_tail(
    k: npt.ArrayLike, n: int | npt.NDArray[np.int64], p: float, alternative: Above = "above"
) -> inputs.Floats:
    """Return P(K >= k), or P(K <= k) with "below", for K ~ Binomial(n, p)."""
    counts = np.asarray(k)
    if alternative == "above":
        return np.asarray(scipy.stats.binom.sf(counts - 1, n, p), dtype=np.float64)
    return np.asarray(scipy.stats.binom.cdf(counts, n, p), dtype=np.float64)


def prompt_bias_p_value(
    male: int, female: int, bound: float, alternative: Beyond = "beyond"
) -> float:
    """Return the exact p-value of one prompt's absolute bias score, of independent images.

    "beyond" tests H0 ``|2p - 1| <= bound``: the p-value is the probability, at the edge
    ``p = (1 + bound) / 2``, of counts at least as uneven. Among the tests that treat both genders
    alike this one is uniformly most powerful, as the likelihood ratio of ``|n_m - n_f|`` is
    monotone in ``|2p - 1|`` (Lehmann and Romano 2005, 3.4).

    "within" tests H0 ``|2p - 1| >= bound`` by two one-sided tests (TOST, Schuirmann 1987): the
    p-value is the larger of their two, ``P(K <= max(n_m, n_f))`` at the edge. It is at most 0.05
    exactly where the Clopper-Pearson interval of level 0.90 lies within the limit. The most
    powerful equivalence test subtracts the outcomes beyond the other edge; that test would let
    128:128 pass a limit of 0.01, and gains nothing at 20 images and a limit of 0.5.

    Args:
        male: number of clear images that show a man.
        female: number of clear images that show a woman.
        bound: limit of the absolute score, in [0, 1].
        alternative: "beyond" (evidence to FAIL) or "within" (evidence to PASS).

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: there is no clear image, or an argument lies outside its range.

    >>> round(prompt_bias_p_value(20, 0, 0.5), 5)
    0.00317
    >>> round(prompt_bias_p_value(11, 9, 0.5, "within"), 4)
    0.0409
    """
    men, women = _check_pair(male, female)
    return float(prompt_bias_p_values([men], [women], bound, alternative)[0])


def prompt_bias_p_values(
    male: npt.ArrayLike, female: npt.ArrayLike, bound: float, alternative: Beyond = "beyond"
) -> inputs.Floats:
    """Return the ``prompt_bias_p_value`` of each of many prompts, of independent images.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the absolute score, in [0, 1].
        alternative: "beyond" or "within".

    Returns:
        p-values, [n_prompts]; 1 where there is no clear image.

    Raises:
        ValueError: shapes differ, a count is no whole number, or an argument is out of range.

    >>> prompt_bias_p_values([20, 0], [0, 0], 0.0).round(7)
    array([1.9e-06, 1.0e+00])
    """
    men, women = inputs.count_vectors(male=male, female=female)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    check_choice("alternative", alternative, BEYOND)
    clear = men + women
    p = np.ones(len(clear))
    for n in np.unique(clear):
        these = clear == n
        p[these] = p_values_of_counts(int(n), limit, alternative)[men[these]]
    return p


@lru_cache(maxsize=512)
def p_values_of_counts(n: int, bound: float, alternative: Beyond = "beyond") -> inputs.Floats:
    """Return ``prompt_bias_p_value`` for 0 to n men among n images, [n + 1], read-only."""
    men = np.arange(n + 1)
    more, edge = np.maximum(men, n - men), (1.0 + bound) / 2.0
    if alternative == "beyond":
        p = binomial_tail(more, n, edge) + binomial_tail(n - more, n, edge, "below")
    elif bound == 0.0:
        p = np.ones(n + 1)
    else:
        p = binomial_tail(more, n, edge, "below")
    table: inputs.Floats = np.asarray(np.clip(p, 0.0, 1.0), dtype=np.float64)
    table.flags.writeable = False
    return table


def share_p_value(successes: int, n: int, bound: float, alternative: Above) -> float:
    """Return the exact one-sided p-value of a share of independent images (binomial test).

    "above" tests H0 ``P <= bound``: the p-value is the probability, at the bound, of as many
    successes or more (Clopper and Pearson 1934). "below" tests H0 ``P >= bound``: the probability
    of as many successes or fewer. An accuracy PASSES its limit by a small p-value of "above" and
    FAILS the limit by a small p-value of "below".

    Args:
        successes: number of images that show the trait.
        n: number of images.
        bound: limit of the share, in [0, 1].
        alternative: "above" or "below".

    Returns:
        p-value in [0, 1]; at most alpha with probability alpha or less under H0, at any n.

    Raises:
        ValueError: n is 0 (no evidence), successes exceed n, or an argument is out of range.

    >>> round(share_p_value(99, 100, 0.95, "above"), 4)
    0.0371
    """
    k, size = check_share(successes, n, 0.5)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    check_choice("alternative", alternative, ("above", "below"))
    return float(binomial_tail(k, size, limit, alternative))


def share_by_prompt_interval(
    successes: npt.ArrayLike, n: npt.ArrayLike, *, level: float
) -> Interval:
    """Return an interval of the mean share over prompts that allows any dependence within a prompt.

    .. math:: m KL(x, mu) <= log(2 / a),  KL(x, mu) = x log(x / mu) + (1-x) log((1-x) / (1-mu))
       (Hoeffding 1963, Theorem 1, for independent values in [0, 1] of any distributions)

    with x the mean of m shares and a = 1 - level; with one image per prompt Clopper and Pearson's.
    """
    k, size = inputs.count_vectors(successes=successes, n=n)
    check_level(level)
    if np.any(k > size):
        worst = int(np.argmax(k - size))
        raise ValueError(
            f"successes must not exceed n, got successes[{worst}]={k[worst]}, n={size[worst]}"
        )
    k, size = k[size > 0], size[size > 0]
    if not k.size:
        raise ValueError(f"n must hold at least one image, got n={n!r}")
    if size.max() == 1:
        return share_interval(int(k.sum()), k.size, level)
    share = float(np.mean(k / size))
    reach = math.log(2.0 / (1.0 - level)) / k.size
    low, high = (
        bisected(lambda mean: _divergence(share, mean) > reach, share, end, 60)[1]
        for end in (0.0, 1.0)
    )
    return Interval(share, low, high, level, "chernoff by prompt", int(k.size))


def _divergence(share: float, mean: float) -> float:
    """Return the Kullback-Leibler divergence of a share from a mean in [0, 1]."""
    if mean in (0.0, 1.0):
        return math.inf
    parts = ((share, mean), (1.0 - share, 1.0 - mean))
    return sum(x * math.log(x / mu) for x, mu in parts if x)


Counted = tuple[float, float]
"""Number of images that show the trait, and number of judged images."""
