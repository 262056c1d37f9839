"""Tests over whole runs and over several of them: wrong verdicts, varied by structure.

    python tests/simulations/whole_runs.py > tests/simulations/whole_runs.md

The test over all spaces, and the pooled test of objects.
"""

from __future__ import annotations

import sys
from itertools import product

import few_triplets
import numpy as np
import object_worlds
from uncertainty import rate

from pytest_t2i.statistics.means import gap_sign_p_value
from pytest_t2i.statistics.objects import object_bias_p_values

ERROR = 0.05 + 1e-12


# all spaces


NOISE = {
    "normal": lambda rng, shape: rng.normal(0, 0.05, shape),
    "long tails": lambda rng, shape: 0.03 * rng.standard_t(2, shape),
    "skewed": lambda rng, shape: 0.05 * (rng.exponential(1.0, shape) - 1.0),
    "skewed the other way": lambda rng, shape: 0.05 * (1.0 - rng.exponential(1.0, shape)),
    "a little, the other way": lambda rng, shape: 0.025 * (4.0 - rng.gamma(4.0, 1.0, shape)),
    "very, the other way": lambda rng, shape: 0.03 * (np.exp(0.5) - rng.lognormal(size=shape)),
    "one in ten far off": lambda rng, shape: np.where(rng.random(shape) < 0.1, 0.27, -0.03),
    "far off the other way": lambda rng, shape: np.where(rng.random(shape) < 0.1, -0.27, 0.03),
}
"""Noise of images around the gap of their triplet, with mean 0."""


def gaps(
    kind: str, mean: float, triplets: int, images: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Gaps of the images of each triplet in a space; the triplets' own means have this mean."""
    own = rng.normal(0, 0.05, triplets)
    return list(NOISE[kind](rng, (triplets, images)) + (own - own.mean() + mean)[:, None])


def everywhere(
    kind: str, triplets: int, images: int, repeats: int
) -> tuple[list[bool], list[bool]]:
    """Nearer to masculine told where one space of three has none; and where all have."""
    rng = np.random.default_rng(76)
    false, found = [], []
    for _ in range(repeats):
        others = [gaps(kind, 0.2, triplets, images, rng) for _ in range(2)]
        for known, mean in ((false, 0.0), (found, 0.05)):
            # The doubtful space first: the largest p-value decides.
            spaces = (gaps(kind, mean, triplets, images, rng), *others)
            known.append(all(gap_sign_p_value(g, sign=1) <= ERROR for g in spaces))
    return false, found


# objects together


def pooled(world: str, triplets: int, score: float, repeats: int) -> tuple[list[bool], list[bool]]:
    """False FAIL and PASS of five objects together, with a limit at the truth."""
    rng = np.random.default_rng(74)
    counts = few_triplets.drawn(few_triplets.WORLDS[world], triplets, score, rng)
    groups = [counts[:, :, k : k + 5].sum(axis=2) for k in range(0, counts.shape[2] - 4, 5)]
    men, women = np.moveaxis(np.array(groups[:repeats]), 0, 2)
    p_values = (
        object_bias_p_values(men, women, score, seed=0, alternative=alternative)
        for alternative in ("greater", "less")
    )
    fails, passes = ((p <= ERROR).tolist() for p in p_values)
    return fails, passes


def company(world: str, triplets: int, repeats: int) -> list[bool]:
    """False FAIL of all objects of a fair world together, which come in company."""
    rng = np.random.default_rng(75)
    found = []
    for _ in range(repeats):
        table = object_worlds.counts(world, triplets, rng)[:, :, :20]
        objects = object_worlds.objects_of(table)
        evidence = objects.pooled_bias_score.evidence(0.5, 0.95)
        found.append(evidence.beyond <= ERROR)
    return found


def print_spaces(repeats: int) -> None:
    """The test over all spaces."""
    print("\n## The test over all spaces\n")
    print("Three spaces; neutral is nearer to masculine by 0.2 in two of them. False: it is said")
    print(f"of all though the third has none. Found: that has 0.05. {repeats} runs each.\n")
    print("| noise | triplets | images | false | found |\n|---|---|---|---|---|")
    for kind, triplets, images in product(NOISE, (5, 20), (2, 4)):
        cells = map(rate, everywhere(kind, triplets, images, repeats))
        print(f"| {kind} | {triplets} | {images} | {' | '.join(cells)} |", flush=True)


def print_objects(repeats: int) -> None:
    """The pooled test."""
    print(f"\n## Objects together\n\nFive objects together, a limit at the true score; {repeats}")
    print("runs each, fewer where fewer groups of five have ten occurrences each.\n")
    print("| world | triplets | score | false FAIL | false PASS |\n|---|---|---|---|---|")
    wrong: list[bool] = []
    for world in few_triplets.WORLDS:
        for triplets, score in ((5, 0.6), (20, 0.6), (20, 0.8)):
            told = pooled(world, triplets, score, repeats)
            wrong += told[0] + told[1]
            cells = map(rate, told)
            print(f"| {world} | {triplets} | {score} | {' | '.join(cells)} |", flush=True)
    print(f"\nAll, either side: {rate(wrong)}.")
    print("\nTwenty objects of a fair world that come in company, limit 0.5;")
    print(f"{repeats // 2} runs each.\n")
    print("| world | triplets | false FAIL |\n|---|---|---|")
    for world in object_worlds.WORLDS:
        for triplets in (5, 20):
            told = rate(company(world, triplets, repeats // 2))
            print(f"| {world} | {triplets} | {told} |", flush=True)


def main(repeats: int = 200) -> None:
    """Print the tables."""
    print(
        f"# Whole runs, and several of them\n\n`python tests/simulations/whole_runs.py {repeats}`:"
    )
    print(f"{repeats} runs each where nothing else is said; in brackets 95 % intervals of the")
    print("simulation. 5 % are stated.")
    print_spaces(3 * repeats)
    print_objects(repeats)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
