"""Curves over steps: how often a band holds everywhere.

Images have eight steps each; they differ by noise, or by kinds of images that lean elsewhere.

    python tests/simulations/curves.py > tests/simulations/curves.md
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import stats

from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.curves import mean_band

LEVEL, RUNS, STEPS = 0.95, 500, 8
MIXING = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(STEPS), np.arange(STEPS))))


def noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Steps that go together as neighbours do."""
    return rng.normal(size=(n, STEPS)) @ MIXING.T


FALLING = np.linspace(0.3, 0.05, STEPS)
MIXTURES = {
    "noise 0.1": (0.0, 0.0, 0.1),
    "noise 0.3": (0.0, 0.0, 0.3),
    "1 in 10 goes the other way, noise 0.03": (0.1, -1.0, 0.03),
    "1 in 10 goes the other way, noise 0.1": (0.1, -1.0, 0.1),
    "1 in 20 goes the other way, noise 0.05": (0.05, -1.0, 0.05),
    "1 in 5 goes the other way, noise 0.05": (0.2, -1.0, 0.05),
    "1 in 10 leans nowhere, noise 0.05": (0.1, 0.0, 0.05),
    "1 in 10 goes twice as far the other way, noise 0.05": (0.1, -2.0, 0.05),
    "1 in 10 goes four times as far the other way, noise 0.05": (0.1, -4.0, 0.05),
}
"""Share of images of another kind, how far these go for each step of the others, noise."""


def held(world: str, n: int, *, runs: int, seed: int) -> tuple[int, float, float]:
    """Runs whose band holds at all steps, its median half-width, and an oracle's.

    The oracle knows the covariance of the images: normal, at all steps at once by Bonferroni.
    """
    share, other, deviation = MIXTURES[world]
    truth = (1.0 - share + share * other) * FALLING
    spread = np.sqrt(share * (1.0 - share) * ((1.0 - other) * FALLING) ** 2 + deviation**2)
    rng = np.random.default_rng([seed, n])
    holds, widths = 0, []
    for _ in range(runs):
        kinds = np.where(rng.random((n, 1)) < share, other, 1.0)
        band = mean_band(kinds * FALLING + deviation * noise(rng, n), level=LEVEL)
        low, high = np.array(band.low), np.array(band.high)
        holds += bool(np.all((low <= truth) & (truth <= high)))
        widths.append(np.mean(high - low) / 2)
    oracle = stats.norm.ppf(1.0 - (1.0 - LEVEL) / 2 / STEPS) * np.mean(spread) / np.sqrt(n)
    return holds, float(np.median(widths)), float(oracle)


def shown(count: int, runs: int) -> str:
    found = share_interval(count, runs, 0.95)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def print_held(sizes: tuple[int, ...]) -> None:
    print("\n## A band holds at all steps\n")
    print("Stated: 0.95. Below each share: the median half-width, beside that of an oracle which")
    print("knows how images vary.\n")
    print("| world | " + " | ".join(f"{n} images" for n in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for world in MIXTURES:
        cells = []
        for n in sizes:
            holds, half, oracle = held(world, n, runs=RUNS, seed=12)
            cells.append(f"{shown(holds, RUNS)}<br>{half:.3f} ({oracle:.3f})")
        print(f"| {world} | " + " | ".join(cells) + " |")
        sys.stdout.flush()


def main() -> None:
    print("# Curves over steps\n\n`python tests/simulations/curves.py`: "
          f"{RUNS} sets each, level {LEVEL:g};")  # fmt: skip
    print("in brackets 95 % intervals of the simulation.")
    print_held((3, 5, 10, 20, 40))


if __name__ == "__main__":
    main()
