"""How often each picture goes with a prompt, so that shares are met exactly and not only on average."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.worlds.population import has_trait
from training.drawings import Record

ROUNDS = 60
"""Rounds of raking; with a handful of traits the weights settle much earlier."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Pool:
    """Everything a prompt may show."""

    indices: NDArray[np.int64]
    """Records, alike ones beside each other."""
    weights: NDArray[np.float64]
    """The chance of each; their sum is one."""


def even_pool(indices: Sequence[int]) -> Pool:
    """All pictures alike."""
    return Pool(np.asarray(indices), np.full(len(indices), 1 / len(indices)))


def merged_pool(pools: Sequence[Pool]) -> Pool:
    """Pools as likely as each other."""
    return Pool(
        np.concatenate([pool.indices for pool in pools]),
        np.concatenate([pool.weights for pool in pools]) / len(pools),
    )


def raked_pool(records: Sequence[Record], indices: Sequence[int], shares: Mapping[str, float]) -> Pool:
    """Pictures weighted so that each trait of ``shares`` is shown as often as that says."""
    traits = list(shares)
    shown = np.array([[has_trait(records[index].scene, trait) for trait in traits] for index in indices])
    order = sorted(range(len(indices)), key=lambda row: (*shown[row].tolist(), indices[row]))
    return Pool(np.asarray(indices)[order], raked_weights(shown[order], list(shares.values())))


def raked_weights(shown: NDArray[np.bool_], shares: Sequence[float]) -> NDArray[np.float64]:
    """Weights of rows under which column c is true with probability ``shares[c]``, for every column.

    A column that is true (or false) in all rows that are left stays as it is. The first column wins where shares
    contradict each other.

    >>> raked_weights(np.array([[True], [False], [False]]), [0.5]).tolist()
    [0.5, 0.25, 0.25]
    """
    weights = np.full(len(shown), 1 / len(shown))
    for _ in range(ROUNDS):
        for column, share in reversed(list(enumerate(shares))):
            has = shown[:, column]
            now = float(weights[has].sum())
            if 0 < now < 1 and has.any() and not has.all():
                weights = np.where(has, weights * (share / now), weights * ((1 - share) / (1 - now)))
            weights = weights / weights.sum()
    return weights


class Turns:
    """Draws from a pool in turns: after n draws every run of neighbours has come up n times its chance, to within one.

    Independent draws would make the share of men in a hundred of them stray by five in a hundred.
    """

    def __init__(self, pool: Pool, rng: random.Random) -> None:
        self.pool = pool
        self.ends = np.cumsum(pool.weights)
        self.place = rng.random()

    def draw(self) -> int:
        """One record."""
        self.place = (self.place + GOLDEN) % 1
        row = int(np.searchsorted(self.ends, self.place * self.ends[-1], side="right"))
        return int(self.pool.indices[min(row, len(self.ends) - 1)])


class Deck:
    """Deals the same cards again and again, shuffled each time, so that none waits long for its turn."""

    def __init__(self, cards: Sequence[int], rng: random.Random) -> None:
        self.cards, self.rng = list(cards), rng
        self.left: list[int] = []

    def draw(self) -> int:
        """One card."""
        if not self.left:
            self.left = self.rng.sample(self.cards, len(self.cards))
        return self.left.pop()
