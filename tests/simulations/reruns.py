"""A user who goes on after INCONCLUSIVE: with more images each time, or as the run proposes.

    python tests/simulations/reruns.py > tests/simulations/reruns.md

A prompt is at its limit. First it is tested with a fixed number of images. Where that decides
nothing, its user takes more and more images until it is decided, or goes on with --t2i-sequential.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from uncertainty import rate

from pytest_t2i import statistics
from pytest_t2i.audits.bias import Bias
from pytest_t2i.audits.score import Tally
from pytest_t2i.statistics import sequences

ALPHA = 0.05
ROUNDING = 1e-12
"""1 - 0.95 is a little more than 0.05 in binary."""
MORE = (14, 20, 30, 40, 60, 80, 100, 150, 200)


class World(NamedTuple):
    """A prompt at its limit, the images of the first run, and the largest number later."""

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
BEYOND = ((0.9, 0.5), (0.95, 0.5), (0.55, 0.5), (0.65, 0.5), (0.7, 0.2), (0.8, 0.3), (0.85, 0.5))
"""Share of men and limit of prompts that are not at their limit."""


@cache
def fixed(male: int, images: int, limit: float) -> tuple[bool, bool]:
    """Whether the exact test FAILs or PASSes these counts."""
    sides = ("beyond", "within")
    counts = [male], [images - male], limit
    first, second = (statistics.prompt_bias_p_values(*counts, side)[0] <= ALPHA for side in sides)
    return bool(first), bool(second)


@cache
def any_look(male: int, images: int, limit: float) -> tuple[bool, bool]:
    """Whether evidence that holds at any look FAILs or PASSes these counts."""
    tallies, level = [Tally.even((male, images - male))], 1.0 - ALPHA
    beyond, within = (
        Bias().sequence_p_values(tallies, limit, level, side)[0] for side in ("beyond", "within")
    )
    return beyond <= ALPHA + ROUNDING, within <= ALPHA + ROUNDING


def ended(world: World, repeats: int, *, sequential: bool) -> tuple[list[bool], list[bool]]:
    """Whether each user ends with FAIL, and with PASS; both are wrong at the limit."""
    rng = np.random.default_rng([2027, 8, WORLDS.index(world)])
    share = (1.0 + world.limit) / 2.0
    later = sequences.looks(world.most) if sequential else MORE
    fail, passed = [], []
    for _ in range(repeats):
        men = (rng.random(max(*later, *world.first)) < share).cumsum()
        steps = [(n, fixed) for n in world.first]
        test = any_look if sequential else fixed
        steps += [(n, test) for n in later if n > world.first[-1]]
        found = (judge(int(men[n - 1]), n, world.limit) for n, judge in steps)
        outcome = next((one for one in found if any(one)), (False, False))
        fail.append(outcome[0])
        passed.append(outcome[1])
    return fail, passed


def images_for_half(share: float, limit: float, looks: Sequence[int], *, many: bool) -> int | None:
    """The fewest images of which half of the users have a verdict."""
    rng = np.random.default_rng([2027, 9])
    men = (rng.random((150, looks[-1])) < share).cumsum(axis=1)
    decided = np.zeros(len(men), dtype=bool)
    for n in looks:
        now = np.array(
            [any((any_look if many else fixed)(int(k), n, limit)) for k in men[:, n - 1]]
        )
        decided = decided | now if many else now
        if decided.mean() >= 0.5:
            return n
    return None


def main(repeats: int = 2000) -> None:
    """Print the tables."""
    print(
        f"# After INCONCLUSIVE\n\n`python tests/simulations/reruns.py {repeats}`: {repeats} users"
    )
    print("of a prompt at its limit, who look at a fixed number of images first. Where it decides")
    print(f"nothing, they take {MORE} images until it does, or go on")
    print("with --t2i-sequential. Every verdict is wrong; stated are 5 % a side.\n")
    print("| limit | first | more: FAIL | more: PASS | sequential: FAIL | sequential: PASS |\n"
          "|---|---|---|---|---|---|")  # fmt: skip
    for world in WORLDS:
        cells = [
            rate(side) for way in (False, True) for side in ended(world, repeats, sequential=way)
        ]
        print(f"| {world.limit} | {world.first} | {' | '.join(cells)} |", flush=True)
    print("\n## Images for an even chance, away from the limit\n")
    print("| share of men | limit | fixed number | any look | ratio |\n|---|---|---|---|---|")
    for share, limit in BEYOND:
        one = images_for_half(share, limit, range(21, 200), many=False)
        many = images_for_half(share, limit, sequences.looks(900), many=True)
        ratio = "-" if one is None or many is None else f"{many / one:.1f}"
        print(f"| {share} | {limit} | {one} | {many} | {ratio} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
