"""How often the interval of Simpson's diversity covers that of the shares images are drawn from.

python tests/simulations/group_diversity.py > tests/simulations/group_diversity.md
"""

from __future__ import annotations

import numpy as np

from pytest_t2i.statistics.groups import group_diversity_interval

RUNS, LEVEL, SEED = 800, 0.95, 0
IMAGES = (8, 20, 40, 100)
WORLDS = {
    "two, even": (0.5, 0.5),
    "two, 9 to 1": (0.9, 0.1),
    "three, even": (1 / 3, 1 / 3, 1 / 3),
    "three, one rare": (0.6, 0.35, 0.05),
    "three, one common": (0.9, 0.05, 0.05),
    "four, falling": (0.4, 0.3, 0.2, 0.1),
    "five, even": (0.2, 0.2, 0.2, 0.2, 0.2),
    "five, one common": (0.8, 0.05, 0.05, 0.05, 0.05),
    "seven, long tail": (0.5, 0.25, 0.12, 0.06, 0.03, 0.02, 0.02),
    "seven, even": (1 / 7,) * 7,
}
"""Shares of the groups."""


def coverage(shares: tuple[float, ...], images: int, runs: int = RUNS) -> float:
    """Part of the runs whose interval holds the diversity of the shares."""
    rng, truth = np.random.default_rng(SEED), 1.0 - float(np.square(shares).sum())
    held = 0
    for run in range(runs):
        counts = rng.multinomial(images, np.divide(shares, np.sum(shares)))
        groups = {f"group {k}": int(count) for k, count in enumerate(counts)}
        interval = group_diversity_interval(groups, level=LEVEL, seed=run)
        held += interval.low - 1e-9 <= truth <= interval.high + 1e-9
    return held / runs


def main() -> None:
    """Print the table."""
    print("# Simpson's diversity of groups: coverage of 95 % intervals\n")
    print(f"Made by `python tests/simulations/group_diversity.py`: {RUNS} runs each.\n")
    print("| groups | " + " | ".join(f"{images} images" for images in IMAGES) + " |")
    print("|---|" + "---|" * len(IMAGES))
    for name, shares in WORLDS.items():
        row = " | ".join(f"{coverage(shares, images):.3f}" for images in IMAGES)
        print(f"| {name} | {row} |", flush=True)


if __name__ == "__main__":
    main()
