"""Whether fixed prompts still give the pictures that they gave: exact tests, valid at every look.

Under an unchanged model the pictures of one prompt and seed, those of the baseline and those of
today, could be exchanged for one another. Both tests rest on that alone: they hold for servers
whose pictures are equal byte by byte, differ a little, or are drawn anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

REPEATS = 2
"""Pictures of each prompt in a baseline."""
TESTS = 3
"""P-values of one look, of which the smallest is taken, times as many: pictures; what they show
today; what they showed at all looks."""


def level_at(look: int, level: float) -> float:
    r"""The error that a look may spend, so that all looks together keep theirs.

    .. math:: \alpha_k = \alpha / (k (k + 1)), \quad \sum_k \alpha_k = \alpha

    The union bound holds however strongly the looks hang together, and however many there are.

    Args:
        look: 1 for the first.
        level: error of all looks together, such as 0.05.

    >>> level_at(1, 0.05), round(sum(level_at(k, 0.05) for k in range(1, 10_000)), 4)
    (0.025, 0.05)
    """
    return level / (look * (look + 1))


class Odd(NamedTuple):
    """What the pictures of several prompts tell."""

    odd: int
    """Prompts whose picture of today is farther from both others than these are from each other."""
    telling: int
    """Prompts whose three pictures are not all alike."""


def odd_pictures(before: Sequence[float], now: Sequence[Sequence[float]]) -> Odd:
    """How often today's picture is the odd one of three.

    Of three pictures that could be exchanged, one that is not like both others is today's with a
    chance of 1/3 at most; three that are alike tell nothing.

    Args:
        before: [prompts] distance of the two pictures of the baseline.
        now: [prompts][2] distances of today's picture to each of them.

    >>> odd_pictures([0.0, 2.0, 0.0], [(3.0, 3.0), (3.0, 1.0), (0.0, 0.0)])
    Odd(odd=1, telling=2)
    """
    pairs = list(zip(before, now, strict=True))
    odd = sum(min(today) > then for then, today in pairs)
    return Odd(odd, sum(max(then, *today) > 0 for then, today in pairs))


def odd_p_value(odd: int, telling: int) -> float:
    """Chance of so many odd pictures or more, of so many that tell, where nothing changed.

    >>> round(odd_p_value(10, 10), 6), odd_p_value(0, 10), odd_p_value(0, 0)
    (1.7e-05, 1.0, 1.0)
    """
    chance = 1 / (REPEATS + 1)
    tail = (
        math.comb(telling, k) * chance**k * (1 - chance) ** (telling - k)
        for k in range(odd, telling + 1)
    )
    return min(math.fsum(tail), 1.0)


def lean_p_value(before: np.ndarray, now: np.ndarray) -> float:
    """Two-sided exact p-value of a shift between men and women, permuted within each prompt.

    Args:
        before: [prompts, repeats] of +1 (male), -1 (female) and 0 (neither).
        now: [prompts, n] of the same.

    Returns:
        Chance that the sum of ``now`` lies as far from what it is on average, where which of a
        prompt's pictures are today's is a matter of chance.

    >>> round(lean_p_value(np.ones((9, 2), int), -np.ones((9, 1), int)) * 3**9, 9)
    1.0
    >>> round(lean_p_value(np.array([[1, -1]] * 9), np.ones((9, 1), int)), 4)
    0.0684
    """
    today = now.shape[1]
    spread, lowest = np.ones(1), 0
    mean = 0.0
    for row in np.hstack([before, now]):
        men, women = int((row > 0).sum()), int((row < 0).sum())
        chances = _sum_chances(men, women, len(row) - men - women, today)
        spread = np.convolve(spread, chances)
        lowest -= today
        mean += today * row.mean()
    sums = lowest + np.arange(len(spread))
    far = np.abs(sums - mean) >= abs(now.sum() - mean) - 1e-9
    return float(min(spread[far].sum(), 1.0))


@lru_cache(maxsize=4096)
def _sum_chances(men: int, women: int, others: int, drawn: int) -> np.ndarray:
    """[2 drawn + 1]: chance of each sum of so many of these, drawn without putting back."""
    chances = np.zeros(2 * drawn + 1)
    total = math.comb(men + women + others, drawn)
    for m in range(max(drawn - women - others, 0), min(men, drawn) + 1):
        for w in range(max(drawn - m - others, 0), min(women, drawn - m) + 1):
            ways = math.comb(men, m) * math.comb(women, w) * math.comb(others, drawn - m - w)
            chances[m - w + drawn] += ways / total
    return chances


def smallest_of(p_values: Sequence[float]) -> float:
    """One p-value for several tests, by Bonferroni.

    >>> smallest_of([0.01, 0.5, 1.0])
    0.03
    """
    return min(1.0, len(p_values) * min(p_values))
