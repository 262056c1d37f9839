"""Intervals of shares, and of the scores that are functions of one share."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval, Prone
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.stereotypes import check_direction
from pytest_t2i.statistics.shares.blaker import lowest_acceptable

Method = Literal["clopper-pearson", "blaker"]


def wilson(successes: int, n: int, level: float) -> Interval:
    """Return the Wilson score interval of a share, as a part of other methods.

    Alone, the interval covers too little: its coverage is near the level on average over shares,
    but as low as 0.84 at single shares. The methods that use this interval have simulated coverage
    of their own.

    .. math:: (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)      (Wilson 1927)

    Args:
        successes: number of images that show the trait.
        n: number of images.
        level: confidence level in (0, 1).

    Returns:
        Interval in [0, 1]; low is exactly 0 at 0/n, high exactly 1 at n/n.

    Raises:
        ValueError: n is 0 (no evidence), successes exceed n, or level lies outside (0, 1).

    >>> print(wilson(10, 20, 0.95))
    0.500 [0.299, 0.701]
    """
    k, size = check_share(successes, n, level)
    share = k / size
    z2 = float(scipy.stats.norm.isf((1.0 - level) / 2.0)) ** 2
    centre = (share + z2 / (2 * size)) / (1.0 + z2 / size)
    spread = math.sqrt(z2 * (share * (1.0 - share) / size + z2 / (4.0 * size**2)))
    half = spread / (1.0 + z2 / size)
    low = 0.0 if k == 0 else centre - half
    high = 1.0 if k == size else centre + half
    return Interval(share, low, high, level, "wilson", size)


def clopper_pearson(successes: int, n: int, level: float) -> Interval:
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

    >>> print(clopper_pearson(20, 20, 0.95))
    1.000 [0.832, 1.000]
    """
    k, size = check_share(successes, n, level)
    tail = (1.0 - level) / 2.0
    low = 0.0 if k == 0 else float(scipy.stats.beta.ppf(tail, k, size - k + 1))
    high = 1.0 if k == size else float(scipy.stats.beta.isf(tail, k + 1, size - k))
    return Interval(k / size, low, high, level, "clopper-pearson", size)


def blaker(successes: int, n: int, level: float) -> Interval:
    """Return Blaker's exact interval of a share: never wider than Clopper and Pearson's.

    The interval holds the shares p at which the observed count is acceptable, and fills the gaps
    between them. A count is acceptable where the smaller tail beyond the count, together with as
    much of the other tail as is no larger, has a probability above 1 - level.

    .. math:: a(p) = smaller tail of k + largest attainable opposite tail up to it > 1 - level
       (Blaker 2000; no gap is skipped, as Klaschka 2010 asks)

    The interval covers with at least the level for every p, and is 6 to 7 % narrower than Clopper
    and Pearson's at 20 images. A single end may miss more often than (1 - level) / 2.

    Args:
        successes: number of images that show the trait.
        n: number of images.
        level: confidence level in (0, 1).

    Returns:
        Interval in [0, 1]; low is exactly 0 at 0/n, high exactly 1 at n/n.

    Raises:
        ValueError: n is 0 (no evidence), successes exceed n, or level lies outside (0, 1).

    >>> print(blaker(3, 10, 0.95))
    0.300 [0.087, 0.619]
    """
    k, size = check_share(successes, n, level)
    low = lowest_acceptable(k, size, level)
    high = 1.0 - lowest_acceptable(size - k, size, level)
    return Interval(k / size, low, high, level, "blaker", size)


def share_interval(successes: int, n: int, level: float, method: Method = "blaker") -> Interval:
    """Return the interval of a share by the named method.

    Args:
        successes: number of images that show the trait.
        n: number of images.
        level: confidence level in (0, 1).
        method: "blaker" (covers with at least the level) or "clopper-pearson" (also each end misses
            with probability at most (1 - level) / 2).

    Returns:
        Interval in [0, 1].

    Raises:
        ValueError: as in the method, or the method is unknown.

    >>> print(share_interval(10, 20, 0.95))
    0.500 [0.293, 0.707]
    """
    methods = {"blaker": blaker, "clopper-pearson": clopper_pearson}
    if method not in methods:
        raise ValueError(f"method must be one of {', '.join(methods)}, got method={method!r}")
    return methods[method](successes, n, level)


def prompt_bias_interval(
    male: int, female: int, level: float, method: Method = "clopper-pearson"
) -> Interval:
    """Return the exact interval of a prompt bias score, 2p - 1 for the share p of male images.

    Args:
        male: number of clear images that show a man.
        female: number of clear images that show a woman.
        level: confidence level in (0, 1).
        method: as in ``share_interval``.

    Returns:
        Interval in [-1, 1].

    Raises:
        ValueError: there is no clear image, a count is no whole number, or level is not in (0, 1).

    >>> print(prompt_bias_interval(10, 10, 0.95))
    0.000 [-0.456, 0.456]
    """
    men, women = check_pair(male, female)
    share = share_interval(men, men + women, level, method)
    return Interval(
        (men - women) / (men + women),
        2.0 * share.low - 1.0,
        2.0 * share.high - 1.0,
        level,
        share.method,
        share.n,
    )


def stereotype_interval(
    present: int, n: int, expected: float, level: float, direction: Prone = "over"
) -> Interval:
    """Return the interval of a stereotype score, from Blaker's exact interval of the share.

    .. math:: [max(0, low - P*), max(0, high - P*)]      (OASIS eq. 3)

    For an attribute that is prone to be shown too rarely the score is that of P* - P.

    Args:
        present: number of images that show the attribute.
        n: number of images that could be examined for the attribute.
        expected: share in the real world, in [0, 1], taken as known.
        level: confidence level in (0, 1).
        direction: "over" for an attribute shown too often, "under" for one shown too rarely.

    Returns:
        Interval in [0, 1].

    Raises:
        ValueError: n is 0 (no evidence), or an argument lies outside its range.

    >>> print(stereotype_interval(19, 20, 0.5, 0.95))
    0.450 [0.261, 0.497]
    >>> print(stereotype_interval(1, 20, 0.5, 0.95, "under"))
    0.450 [0.261, 0.497]
    """
    k, size, real = in_direction(*check_share(present, n, level), expected, direction)
    return excess(blaker(k, size, level), real)


def in_direction(k: int, n: int, expected: float, direction: Prone) -> tuple[int, int, float]:
    """Return counts and expected share of the attribute, or of its absence for "under".

    An attribute that is shown too rarely is the same as its absence shown too often.

    >>> in_direction(1, 20, 0.75, "under")
    (19, 20, 0.25)
    """
    check_direction(direction)
    real = float(inputs.in_range("expected", expected, 0.0, 1.0))
    return (n - k, n, 1.0 - real) if direction == "under" else (k, n, real)


def excess(share: Interval, expected: float) -> Interval:
    """Return the interval of the amount by which a share exceeds the expected one, at least 0.

    >>> print(excess(Interval(0.6, 0.4, 0.8, 0.95, "wilson", 20), 0.5))
    0.100 [0.000, 0.300]
    """
    low, middle, high = (max(0.0, x - expected) for x in (share.low, share.estimate, share.high))
    return Interval(middle, low, high, share.level, share.method, share.n)


def check_level(level: float) -> None:
    """Raise a ValueError for a confidence level outside (0, 1).

    >>> check_level(0.95)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got level={level!r}")


def check_share(successes: int, n: int, level: float) -> tuple[int, int]:
    """Return both counts as integers; raise a ValueError where they make no share.

    >>> check_share(3, 4, 0.95)
    (3, 4)
    """
    check_level(level)
    k, size = _whole("successes", successes), _whole("n", n)
    if size == 0:
        raise ValueError("n must be at least 1, got n=0: no image is no evidence")
    if k > size:
        raise ValueError(f"successes must not exceed n, got successes={k}, n={size}")
    return k, size


def male_share(bias: npt.ArrayLike) -> inputs.Floats:
    """Return the share of male images, p, from the expected prompt bias score, 2p - 1.

    >>> male_share([0.5, -1.0])
    array([0.75, 0.  ])
    """
    return np.asarray((1.0 + np.asarray(bias, dtype=np.float64)) / 2.0, dtype=np.float64)


def check_pair(male: int, female: int) -> tuple[int, int]:
    """Return both counts as integers; raise a ValueError where there is no clear image.

    >>> check_pair(3, 4)
    (3, 4)
    """
    men, women = _whole("male", male), _whole("female", female)
    if men + women == 0:
        raise ValueError("male and female must not both be 0: no clear image is no evidence")
    return men, women


def _whole(name: str, value: int) -> int:
    array = inputs.whole_counts(name, value)
    if np.ndim(array):
        raise ValueError(f"{name} must be a single number, got {name}.shape={array.shape}")
    return int(array)
