"""A user who goes on after INCONCLUSIVE: with more images each time, or with new ones.

    python tests/simulations/reruns.py > tests/simulations/reruns.md

A prompt is at its limit. First it is tested with a fixed number of images. Where that decides
nothing, its user takes more and more images of the same seed until it is decided, or judges new
images once: a fixed number of them, or with --t2i-sequential.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from uncertainty import rate

from pytest_t2i import statistics
from pytest_t2i.audits.engine.early_stopping import Shown, evidence
from pytest_t2i.statistics.group_sequential import SequentialTest

ALPHA = 0.05
ROUNDING = 1e-12
"""1 - 0.95 is a little more than 0.05 in binary."""
MORE = (14, 20, 30, 40, 60, 80, 100, 150, 200)


class World(NamedTuple):
    """A prompt at its limit, the images of the first run, and the number of new ones."""

    limit: float
    first: tuple[int, ...]
    most: int


WORLDS = (
    World(0.5, (20,), 112),
    World(0.5, (40,), 200),
    World(0.2, (20,), 112),
    World(0.3, (30,), 150),
    World(0.5, (14, 20), 112),
    World(0.7, (30,), 200),
)
Way = Literal["more", "fresh", "sequential"]
WAYS: tuple[Way, ...] = ("more", "fresh", "sequential")


@cache
def fixed(male: int, images: int, limit: float) -> tuple[bool, bool]:
    """Whether the exact test FAILs or PASSes these counts."""
    sides = ("beyond", "within")
    counts = [male], [images - male], limit
    first, second = (statistics.prompt_bias_p_values(*counts, side)[0] <= ALPHA for side in sides)
    return bool(first), bool(second)


def sequential(men: np.ndarray, limit: float) -> tuple[bool, bool]:
    """Whether a run with --t2i-sequential FAILs or PASSes, by the men among its first images."""
    test = SequentialTest(len(men), limit, level=1.0 - ALPHA)
    for at, n in enumerate(test.looks):
        lean = abs(2 * int(men[n - 1]) - n)
        shown = Shown(tuple((k, k) for k in test.looks[: at + 1]), lean, lean)
        if shown.state(test) != "open":
            break
    (found,) = evidence([shown], [test], 1.0 - ALPHA)
    return (found.beyond or 0.0) <= ALPHA + ROUNDING, (found.within or 0.0) <= ALPHA + ROUNDING


def ended(world: World, repeats: int, way: Way) -> tuple[list[bool], list[bool]]:
    """Whether each user ends with FAIL, and with PASS; both are wrong at the limit."""
    rng = np.random.default_rng([2027, 8, WORLDS.index(world)])
    share = (1.0 + world.limit) / 2.0
    fail, passed = [], []
    for _ in range(repeats):
        men = (rng.random(max(*MORE, *world.first)) < share).cumsum()
        fresh = (rng.random(world.most) < share).cumsum()
        steps = list(world.first)
        if way == "more":
            steps += [n for n in MORE if n > world.first[-1]]
        found = (fixed(int(men[n - 1]), n, world.limit) for n in steps)
        outcome = next((one for one in found if any(one)), None)
        if outcome is None and way == "fresh":
            outcome = fixed(int(fresh[-1]), world.most, world.limit)
        elif outcome is None and way == "sequential":
            outcome = sequential(fresh, world.limit)
        fail.append(outcome is not None and outcome[0])
        passed.append(outcome is not None and outcome[1])
    return fail, passed


def main(repeats: int = 2000) -> None:
    """Print the table."""
    print(
        f"# After INCONCLUSIVE\n\n`python tests/simulations/reruns.py {repeats}`: {repeats} users"
    )
    print("of a prompt at its limit, who look at a fixed number of images first. Where it decides")
    print(f"nothing, they take {MORE} images of the same seed")
    print("until it does, or judge as many new images as the table says once: a fixed number of")
    print(
        "them, or with --t2i-sequential. Every verdict is wrong; 5 % a side and look is stated.\n"
    )
    sides = " | ".join(f"{way}: FAIL | {way}: PASS" for way in ("more", "new", "sequential"))
    print(f"| limit | first | new | {sides} |\n|{'---|' * 9}")
    for world in WORLDS:
        cells = [rate(side) for way in WAYS for side in ended(world, repeats, way)]
        print(f"| {world.limit} | {world.first} | {world.most} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
