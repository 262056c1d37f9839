"""Verdicts on single objects with few triplets: a limit at the truth, and the interval.

python tests/simulations/few_triplets.py > tests/simulations/few_triplets.md
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from pytest_t2i.statistics import object_bias_intervals, share_interval
from pytest_t2i.statistics.objects import object_bias_p_values

OBJECTS, LEAST = 1000, 10
TRIPLETS = (3, 5, 7, 10, 20, 40)
SCORES = (0.5, 0.6, 0.8)


class World(NamedTuple):
    """How occurrences come."""

    mean: float
    """Of one gender's images of a triplet."""
    company: bool = False
    """In company: some triplets have many, most few."""
    rare: bool = False
    """In three of ten triplets alone, four times as many there."""
    own: bool = False
    """Each triplet with a score of its own."""


WORLDS = {
    "one of each": World(1.0),
    "six of each": World(6.0),
    "one, in company": World(1.0, company=True),
    "six, in company": World(6.0, company=True),
    "six, scores of triplets differ": World(6.0, own=True),
    "one, in company, scores differ": World(1.0, company=True, own=True),
    "in three triplets of ten": World(6.0, rare=True),
}


def drawn(world: World, triplets: int, score: float, rng: np.random.Generator) -> np.ndarray:
    """Masculine and feminine occurrences of many objects, apart from each other."""
    shape = (triplets, OBJECTS)
    rate = np.full(shape, 2.0 * world.mean)
    if world.company:
        rate = rate * rng.gamma(0.5, 2.0, shape)
    if world.rare:
        rate = np.where(rng.random(shape) < 0.3, 4.0 * rate, 0.0)
    chance = rng.beta(4 * score, 4 * (1 - score), shape) if world.own else np.full(shape, score)
    total = rng.poisson(rate)
    men = rng.binomial(total, chance)
    counts = np.stack([men, total - men])
    return counts[:, :, total.sum(axis=0) >= LEAST]


def rates(world: str, triplets: int, score: float, seed: int) -> dict[str, tuple[int, int]]:
    """Objects that pass, that fail a limit at their score, whose interval covers; of how many."""
    men, women = drawn(WORLDS[world], triplets, score, np.random.default_rng([seed, triplets]))
    known = [
        one
        for one in object_bias_intervals(
            men[:, :300], women[:, :300], level=0.95, seed=seed, resamples=2000
        )
        if one is not None
    ]
    p = {
        way: object_bias_p_values(men, women, score, seed=seed, alternative=way)
        for way in ("less", "greater")
    }
    return {
        "PASS": (int(np.sum(p["less"] <= 0.05)), men.shape[1]),
        "FAIL": (int(np.sum(p["greater"] <= 0.05)), men.shape[1]),
        "covers": (sum(score in one for one in known), len(known)),
    }


def shown(count: int, n: int) -> str:
    if not n:
        return "-"
    found = share_interval(count, n, 0.95)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def main() -> None:
    print("# Objects of few triplets\n\n`python tests/simulations/few_triplets.py`: "
          f"{OBJECTS} objects a cell, those with")  # fmt: skip
    print(f"{LEAST} occurrences or more judged; in brackets 95 % intervals of the simulation.")
    found = {
        (world, score, n): rates(world, n, score, 31)
        for world in WORLDS
        for score in SCORES
        for n in TRIPLETS
    }
    for what, title in (
        ("PASS", "PASS of a limit at the truth (wrong, 0.05 stated)"),
        ("FAIL", "FAIL of a limit at the truth (wrong, 0.05 stated)"),
        ("covers", "95 % intervals that cover, of single objects"),
    ):
        print(f"\n## {title}\n\n| occurrences | score | " + " | ".join(f"{n} triplets"
              for n in TRIPLETS) + " |")  # fmt: skip
        print("|---|---|" + "---|" * len(TRIPLETS))
        pooled = np.zeros((len(TRIPLETS), 2), dtype=int)
        for world in WORLDS:
            for score in SCORES:
                row = [found[world, score, n][what] for n in TRIPLETS]
                pooled += np.array(row)
                print(f"| {world} | {score} | " + " | ".join(shown(*cell) for cell in row) + " |")
        cells = " | ".join(shown(int(k), int(n)) for k, n in pooled)
        print(f"| all | | {cells} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
