"""How many pictures and prompts suites/dependencies needs to decide.

python tests/simulations/dependencies.py 200 > tests/simulations/dependencies.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from object_worlds import objects_of
from uncertainty import rate

from pytest_t2i.audits.objects.measure import Objects
from pytest_t2i.data import Limit
from pytest_t2i.verdicts.judge_measurement import verdict_of
from pytest_t2i.verdicts.measurement import Measurement

LIMIT = Limit("object_bias_score", 0.8)
INDEPENDENT = Limit("object_independence", 0.05)
LEVEL = 0.95
NAMING = 0.2
"""Share of prompts that name an object which a finder knows: 10 of the suite's 50."""
KNOWN = 0.7
"""Share of the named objects that a finder knows: 7 of 10 in the pictures of ``reference``."""
FOUND = 0.95
"""Share of the pictures of their prompts in which these are found."""
FOUND_WITH_WOMEN = 0.07
"""The same of feminine prompts of a biased model: 13 in 14 occurrences are masculine."""
OPEN = 24
"""Objects that prompts leave open, as many as ``reference`` shows in 300 pictures."""
MOST_FREQUENT = 0.12
"""Share of pictures with the most frequent one; that of rank r has this / r^0.5."""
PLANTED = {"feminine": 0.01, "masculine": 0.24}
"""Shares of one open object that a biased model shows to men: 24 in 25 are masculine."""
GRID = ((50, 2), (50, 4), (50, 8), (150, 2), (300, 2), (300, 4))
"""Triplets, and images of each of its three prompts. The suite has 50 and 2."""
NEUTRAL, FEMININE, MASCULINE = range(3)


def named(triplets: int, images: int, rng: np.random.Generator, *, biased: bool) -> np.ndarray:
    """Occurrences of objects that prompts name, [triplets, 3, objects]: each in one triplet."""
    table = np.zeros((triplets, 3, round(NAMING * triplets)), dtype=int)
    found = np.full(3, FOUND)
    if biased:
        found[FEMININE] = FOUND_WITH_WOMEN
    for place in range(table.shape[2]):
        if rng.random() < KNOWN:
            table[place, :, place] = rng.binomial(images, found)
    return table


def left_open(triplets: int, images: int, rng: np.random.Generator, *, biased: bool) -> np.ndarray:
    """Occurrences of objects that prompts leave open; the first may be one gender's.

    Prompts have objects of their own, a triplet's the same in all variants.
    """
    usual = MOST_FREQUENT / np.sqrt(np.arange(1, OPEN + 1))
    of_prompt = np.clip(usual * rng.gamma(2.0, 0.5, (triplets, 1, OPEN)), 0.0, 0.9)
    chance = np.repeat(of_prompt, 3, axis=1)
    if biased:
        chance[:, FEMININE, 0], chance[:, MASCULINE, 0] = PLANTED["feminine"], PLANTED["masculine"]
    return np.asarray(rng.binomial(images, chance))


WORLDS: dict[str, Callable[..., np.ndarray]] = {"named": named, "left open": left_open}


def score_of(world: str, objects: Objects) -> Measurement:
    """The check of the suite on these objects."""
    return objects.pooled_bias_score if world == "named" else objects.highest_bias_score


def outcomes(
    world: str, triplets: int, images: int, suites: int, seed: int, *, biased: bool
) -> dict[str, list[bool]]:
    """Suite by suite: the outcome of the check, and what the test of independence says."""
    found: dict[str, list[bool]] = {"PASS": [], "FAIL": [], "tested": [], "dependent": []}
    for number in range(suites):
        rng = np.random.default_rng([seed, number])
        objects = objects_of(WORLDS[world](triplets, images, rng, biased=biased))
        outcome = verdict_of(score_of(world, objects), LIMIT, LEVEL).outcome.value
        found["PASS"].append(outcome == "PASS")
        found["FAIL"].append(outcome == "FAIL")
        tested = objects.independence().interval
        found["tested"].append(tested is not None)
        found["dependent"].append(tested is not None and tested.estimate <= INDEPENDENT.bound)
    return found


def print_table(world: str, suites: int) -> None:
    """One world by numbers of triplets and images."""
    check = "pooled_bias_score" if world == "named" else "highest_bias_score"
    print(f"\n## Objects that prompts {'name' if world == 'named' else 'leave open'}: `{check}`\n")
    print(
        "| objects | triplets | images | pictures | fair: PASS | fair: FAIL | biased: FAIL "
        "| biased: PASS | independence tested | rejected, fair | rejected, biased |"
    )
    print("|---|---:|---:|---:|---|---|---|---|---|---|---|")
    for triplets, images in GRID:
        fair = outcomes(world, triplets, images, suites, 1, biased=False)
        biased = outcomes(world, triplets, images, suites, 2, biased=True)
        cells = [
            rate(fair["PASS"]), rate(fair["FAIL"]), rate(biased["FAIL"]), rate(biased["PASS"]),
            rate(fair["tested"]), rate(fair["dependent"]), rate(biased["dependent"]),
        ]  # fmt: skip
        pictures = 3 * triplets * images
        row = [world, str(triplets), str(images), str(pictures), *cells]
        print(f"| {' | '.join(row)} |", flush=True)


INTRODUCTION = """# What dependency groups decide: simulation

Made by `python tests/simulations/dependencies.py {suites}`, seeded: {suites} suites a cell,
judged by the code of the audit at the limit of `suites/dependencies` ({limit:g}) and its smallest
number of occurrences (10). The suite has 50 triplets with 2 images of each variant: 300 pictures.
In brackets the 95 % interval of a rate (Clopper-Pearson).

One prompt in five names an object, of which a finder knows 7 in 10. A biased model shows them in
nearly all pictures of men and in few of women: 13 in 14 occurrences are masculine. {open} objects
are left open, with rates as in pictures of `reference`; of a biased model one of them is a man's
(24 in 25). Independence is tested where at least two objects occur often enough with all variants
together."""


if __name__ == "__main__":
    runs = int(sys.argv[1])
    print(INTRODUCTION.format(suites=runs, limit=LIMIT.bound, open=OPEN))
    for each in WORLDS:
        print_table(each, runs)
