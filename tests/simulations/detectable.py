"""The growth that the exact test is said to find in 80 % of runs, and how often it finds it.

python tests/simulations/detectable.py > tests/simulations/detectable.md
"""

from __future__ import annotations

import sys

import numpy as np
from change import at, beta, halves
from worlds import FIXED

from pytest_t2i.statistics import change_p_value, share_interval
from pytest_t2i.statistics.planning import found_growth

LEVEL, RUNS = 0.95, 150
WORLDS = {
    "fair": at(0.0),
    "all .1": at(0.1),
    "all .3": at(0.3),
    "all .6": at(0.6),
    "Beta(1, 2)": beta(1.0, 2.0),
    "half fair, half .9": halves(0.0, 0.9),
    "SDXL's rates": FIXED["sdxl"],
}
SIZES = ((30, 20), (100, 20), (100, 60))
"""Prompts and images."""


def found(world: str, prompts: int, n: int, *, runs: int, seed: int) -> tuple[float, int]:
    """Growth that is told of unchanged models on average; runs in which it is found."""
    rng = np.random.default_rng([seed, prompts, n])
    before = WORLDS[world](prompts)

    def men(bias: np.ndarray) -> np.ndarray:
        return rng.binomial(n, (1 + bias) / 2)

    pairs = [(men(before), men(before)) for _ in range(40)]
    growth = float(np.mean([found_growth(a, n - a, b, n - b, level=LEVEL) for a, b in pairs]))
    room = 1.0 - before
    after = np.minimum(1.0, before + room * growth / room.mean())
    hits = 0
    for run in range(runs):
        old, new = men(before), men(after)
        hits += change_p_value(old, n - old, new, n - new, seed=run, redraws=1000) <= 0.05
    return growth, hits


def shown(count: int, n: int) -> str:
    seen = share_interval(count, n, 0.95)
    return f"{seen.estimate:.2f} [{seen.low:.2f}, {seen.high:.2f}]"


def main() -> None:
    print('# "A growth by ... would be found in 80 % of runs"\n')
    print(f"`python tests/simulations/detectable.py`: {RUNS} runs each; in brackets 95 % intervals")
    print(
        "of the simulation. Every prompt's distance to one-sidedness shrinks by the same share.\n"
    )
    print("| before | " + " | ".join(f"{p} prompts x {n} images" for p, n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for world in WORLDS:
        cells = []
        for prompts, n in SIZES:
            growth, hits = found(world, prompts, n, runs=RUNS, seed=81)
            cells.append(f"{growth:.2f} is found in {shown(hits, RUNS)}")
        print(f"| {world} | " + " | ".join(cells) + " |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
