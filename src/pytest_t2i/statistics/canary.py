"""Exact tests of whether fixed prompts still give the same pictures, valid at every look.

Under an unchanged model, the pictures of one prompt and seed from the baseline and from today are
exchangeable. Both tests assume only this: they hold for servers whose pictures are equal byte by
byte, differ a little, or are drawn anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pytest_t2i.statistics.shares import binomial_tail

REPEATS = 2
"""Number of pictures of each prompt in a baseline."""
TESTS = 3
"""Number of p-values of one look, which Bonferroni combines: pictures; labels today; labels at all
looks."""


def level_at(look: int, level: float) -> float:
    """Return the error a / (k (k + 1)) of look k: all looks together spend a (union bound)."""
    return level / (look * (look + 1))


class Odd(NamedTuple):
    """The counts of the odd-one-out test over several prompts."""

    odd: int
    """Number of prompts whose picture of today is farther from both others than these are from each
    other."""
    telling: int
    """Number of prompts whose three pictures are not all alike."""


def odd_pictures(before: Sequence[float], now: Sequence[Sequence[float]]) -> Odd:
    """Count the prompts where today's picture is the odd one of three.

    Of three exchangeable pictures today's is the odd one with probability at most 1/3.
    """
    pairs = list(zip(before, now, strict=True))
    odd = sum(min(today) > then for then, today in pairs)
    return Odd(odd, sum(max(then, *today) > 0 for then, today in pairs))


def odd_p_value(odd: int, telling: int) -> float:
    """Return the binomial probability of so many odd pictures or more where nothing changed."""
    return min(float(binomial_tail(odd, telling, 1 / (REPEATS + 1))), 1.0)


def lean_p_value(before: np.ndarray, now: np.ndarray) -> float:
    """Return the exact two-sided p-value of a shift of the labels, permuted within prompts."""
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
def _sum_chances(men: int, women: int, rest: int, draws: int) -> np.ndarray:
    """Return the probability of each sum of draws without replacement, [2 draws + 1]."""
    chances = np.zeros(2 * draws + 1)
    total = math.comb(men + women + rest, draws)
    for m in range(max(draws - women - rest, 0), min(men, draws) + 1):
        for w in range(max(draws - m - rest, 0), min(women, draws - m) + 1):
            ways = math.comb(men, m) * math.comb(women, w) * math.comb(rest, draws - m - w)
            chances[m - w + draws] += ways / total
    return chances


def smallest_of(p_values: Sequence[float]) -> float:
    """Return one p-value for several tests, by Bonferroni."""
    return min(1.0, len(p_values) * min(p_values))
