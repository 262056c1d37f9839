"""Verdicts on single objects with few triplets: a limit at the truth, and the interval.

python tests/simulations/few_triplets.py > tests/simulations/few_triplets.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_t2i.statistics import object_bias_intervals, share_interval
from pytest_t2i.statistics.objects import object_bias_p_values

OBJECTS, LEAST = 1000, 10
TRIPLETS = (3, 5, 7, 10, 20, 40)
SCORES = (0.5, 0.6, 0.8, 0.9)
APART = ((0.75, 0.6), (0.95, 0.8), (0.5, 0.7), (0.6, 0.8), (0.8, 0.9))
"""Scores, each with a limit that it lies beyond or within."""


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
    alone: bool = False
    """Each triplet with one gender alone."""


WORLDS = {
    "one of each": World(1.0),
    "six of each": World(6.0),
    "one, in company": World(1.0, company=True),
    "six, in company": World(6.0, company=True),
    "six, scores of triplets differ": World(6.0, own=True),
    "one, in company, scores differ": World(1.0, company=True, own=True),
    "in three triplets of ten": World(6.0, rare=True),
    "six, with one gender alone": World(6.0, alone=True),
    "in three of ten, one gender alone": World(6.0, rare=True, alone=True),
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
    if world.alone:
        chance = (rng.random(shape) < score).astype(np.float64)
    total = rng.poisson(rate)
    men = rng.binomial(total, chance)
    counts = np.stack([men, total - men])
    return counts[:, :, total.sum(axis=0) >= LEAST]


def rates(
    world: str, triplets: int, score: float, limit: float, seed: int
) -> dict[str, tuple[int, int]]:
    """Objects that pass, that fail a limit, whose interval covers the score; of how many."""
    men, women = drawn(WORLDS[world], triplets, score, np.random.default_rng([seed, triplets]))
    intervals = object_bias_intervals(men, women, level=0.95)
    known = [interval for interval in intervals if interval is not None]
    p = {
        way: object_bias_p_values(men, women, limit, seed=seed, alternative=way)
        for way in ("less", "greater")
    }
    return {
        "PASS": (int(np.sum(p["less"] <= 0.05)), men.shape[1]),
        "FAIL": (int(np.sum(p["greater"] <= 0.05)), men.shape[1]),
        "covers": (sum(score in interval for interval in known), len(known)),
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
    at_limit = [(score, score) for score in SCORES]
    print_table("PASS of a limit at the truth (wrong, 0.05 stated)", "PASS", at_limit)
    print_table("FAIL of a limit at the truth (wrong, 0.05 stated)", "FAIL", at_limit)
    print_table("95 % intervals that cover, of single objects", "covers", at_limit)
    print_table("Beyond the limit: FAIL (right)", "FAIL", [p for p in APART if p[0] > p[1]])
    print_table("Within the limit: PASS (right)", "PASS", [p for p in APART if p[0] < p[1]])


def print_table(title: str, what: str, pairs: list[tuple[float, float]]) -> None:
    """Print the rates of each world at these pairs of a score and a limit."""
    print(f"\n## {title}\n\n| occurrences | score | limit | " + " | ".join(f"{n} triplets"
          for n in TRIPLETS) + " |")  # fmt: skip
    print("|---|---|---|" + "---|" * len(TRIPLETS))
    pooled = np.zeros((len(TRIPLETS), 2), dtype=int)
    for world in WORLDS:
        for score, limit in pairs:
            row = [rates(world, n, score, limit, 31)[what] for n in TRIPLETS]
            pooled += np.array(row)
            cells = " | ".join(shown(*cell) for cell in row)
            print(f"| {world} | {score} | {limit} | {cells} |", flush=True)
    print(f"| all | | | {' | '.join(shown(int(k), int(n)) for k, n in pooled)} |", flush=True)


if __name__ == "__main__":
    main()
