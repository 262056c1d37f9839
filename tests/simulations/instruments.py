"""How often intervals of OASIS' instruments hold: WALS.

Images are unit features of people of whom a share has an attribute.

    python tests/simulations/instruments.py > tests/simulations/instruments.md
"""

from __future__ import annotations

import sys

import numpy as np

from pytest_t2i import metrics
from pytest_t2i.statistics.variety import wals_interval

LEVEL = 0.95


def one_sided(rng: np.random.Generator, n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """People of whom a share has the attribute, which shows in all of their features."""
    world, d = np.random.default_rng(0), 64
    common, attribute = 3.0 * world.normal(size=d), world.normal(size=d)
    loads = world.normal(size=(d, d)) * np.exp(-np.arange(d) / 8)[:, None]
    rows = common + 0.6 * rng.normal(size=(n, d)) @ loads + 0.2 * rng.normal(size=(n, d))
    rows += 1.5 * attribute * (rng.random(n) < share)[:, None]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), attribute


def wals_holds(n: int, share: float, repeats: int, *, center: bool) -> float:
    """How often an interval holds the mean of fresh sets."""
    rng = np.random.default_rng(4)
    drawn = [one_sided(rng, n, share) for _ in range(3 * repeats)]
    truth = np.mean([metrics.wals(rows, along, center=center) for rows, along in drawn])
    known = [
        wals_interval(rows, along, level=LEVEL, seed=seed, center=center, resamples=60)
        for seed, (rows, along) in enumerate(drawn[:repeats])
    ]
    return float(np.mean([truth in interval for interval in known]))


def main(repeats: int = 200) -> None:
    """Print the tables."""
    print("# Intervals of OASIS' instruments\n")
    print(
        f"`python tests/simulations/instruments.py {repeats}`: {repeats} sets each, level 0.95.\n"
    )
    print("WALS, by how many images are of the rarer kind on average:\n")
    print("| images | share | of the rarer kind | plain | centred |\n|---:|---:|---:|---:|---:|")
    for n in (20, 40, 100):
        for share in (0.5, 0.9, 0.95, 0.98):
            held = [wals_holds(n, share, repeats, center=center) for center in (False, True)]
            rarer = f"{n * (1 - share):.1f}"
            print(f"| {n} | {share:.2f} | {rarer} | {held[0]:.2f} | {held[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
