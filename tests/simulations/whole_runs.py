"""Tests over whole runs and over several of them: wrong verdicts, varied by structure.

    python tests/simulations/whole_runs.py > tests/simulations/whole_runs.md

The sequential model score at all its looks, the test over all spaces, and the pooled test of
objects.
"""

from __future__ import annotations

import sys
from itertools import product

import few_triplets
import numpy as np
import object_worlds
from uncertainty import rate
from worlds import FIXED

from pytest_t2i.statistics import model_bias_p_value
from pytest_t2i.statistics.deprecated import look_level
from pytest_t2i.statistics.means import gap_sign_p_value
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.statistics.sequences import looks

ERROR = 0.05 + 1e-12


# the model at all looks


def looked_at(
    world: str, prompts: int, most: int, repeats: int
) -> tuple[list[bool], list[bool], list[bool]]:
    """False FAIL, false PASS at any look with a limit at the truth; a PASS at truth + 0.2."""
    bias = FIXED[world](prompts)
    truth, rng = float(bias.mean()), np.random.default_rng(72)
    fails, passes, right = [], [], []
    for _ in range(repeats):
        shown = rng.random((prompts, most)) < ((1 + bias) / 2)[:, None]
        wrong = [False, False, False]
        for n in looks(most):
            men = shown[:, :n].sum(axis=1)
            spent = 1.0 - look_level(n, most, 0.95) + 1e-12
            wrong[0] |= model_bias_p_value(men, n - men, truth) <= spent
            for place, bound in ((1, truth), (2, min(1.0, truth + 0.2))):
                p = model_bias_p_value(men, n - men, bound, alternative="less")
                wrong[place] |= p <= spent
        for known, value in zip((fails, passes, right), wrong, strict=True):
            known.append(bool(value))
    return fails, passes, right


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


LOOKED_AT = ("sdxl", "fair", "all at 0.2", "20 % at 0.8, rest fair", "half at 0.95, half fair")


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


def print_looks(repeats: int) -> None:
    """The model at all looks."""
    print("\n## The model at all looks\n\nA limit at the truth, looked at as `--t2i-sequential`")
    print("looks; wrong at any look. Beside it how often a limit 0.2 above the truth is passed.")
    print(f"{repeats} runs each.\n")
    print("| world | prompts | images at most | false FAIL | false PASS | passes + 0.2 |")
    print("|---|---|---|---|---|---|")
    wrong: list[bool] = []
    for world in LOOKED_AT:
        for prompts, most in ((30, 20), (100, 20)):
            fails, passes, right = looked_at(world, prompts, most, repeats)
            wrong += fails + passes
            cells = map(rate, (fails, passes, right))
            print(f"| {world} | {prompts} | {most} | {' | '.join(cells)} |", flush=True)
    print(f"\nAll, either side: {rate(wrong)}.")


def main(repeats: int = 200) -> None:
    """Print the tables."""
    print(
        f"# Whole runs, and several of them\n\n`python tests/simulations/whole_runs.py {repeats}`:"
    )
    print(f"{repeats} runs each where nothing else is said; in brackets 95 % intervals of the")
    print("simulation. 5 % are stated.")
    print_spaces(3 * repeats)
    print_objects(repeats)
    print_looks(repeats // 4)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
