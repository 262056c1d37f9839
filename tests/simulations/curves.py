"""Curves over steps: how often a lean is told that is not there.

Images have eight steps each; they differ by noise, or by kinds of images that lean elsewhere.

    python tests/simulations/curves.py > tests/simulations/curves.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from pytest_t2i.statistics import clopper_pearson, half_step_interval

LEVEL, RUNS, STEPS = 0.95, 500, 8
MIXING = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(STEPS), np.arange(STEPS))))
World = Callable[[np.random.Generator, int], np.ndarray]


def noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Steps that go together as neighbours do."""
    return rng.normal(size=(n, STEPS)) @ MIXING.T


NO_LEAN: dict[str, World] = {
    "noise, neighbours alike": noise,
    "noise, steps apart": lambda rng, n: rng.normal(size=(n, STEPS)),
    "long tails": lambda rng, n: rng.standard_t(3, size=(n, 1)) * (1 + 0.3 * noise(rng, n)),
    "half lean either way": lambda rng, n: rng.choice([-1, 1], (n, 1)) + 0.3 * noise(rng, n),
    "few lean far": lambda rng, n: rng.exponential(size=(n, 1)) - 1 + 0.3 * noise(rng, n),
    "one in five outweighs four": lambda rng, n: (
        np.where(rng.random((n, 1)) < 0.2, -0.8, 0.2) + 0.1 * noise(rng, n)
    ),
}
"""Curves whose expected sum is 0."""


def told(world: World, n: int, *, runs: int, seed: int) -> int:
    """Runs in which a step is told by which half of the lean is there."""
    rng = np.random.default_rng([seed, n])
    return sum(
        half_step_interval(world(rng, n), level=LEVEL, seed=run, resamples=300) is not None
        for run in range(runs)
    )


def shown(count: int, runs: int) -> str:
    found = clopper_pearson(count, runs, 0.95)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def print_told(sizes: tuple[int, ...]) -> None:
    print("\n## A step is told by which half of the lean is there, where there is none\n")
    print("Stated: 0.05. Of fewer than ten images none is told.\n")
    print("| world | " + " | ".join(f"{n} images" for n in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    pooled = np.zeros(len(sizes), dtype=int)
    for name, world in NO_LEAN.items():
        counts = [told(world, n, runs=RUNS, seed=11) for n in sizes]
        pooled += counts
        print(f"| {name} | " + " | ".join(shown(count, RUNS) for count in counts) + " |")
        sys.stdout.flush()
    cells = (shown(int(count), RUNS * len(NO_LEAN)) for count in pooled)
    print("| all worlds | " + " | ".join(cells) + " |")


def main() -> None:
    print("# Curves over steps\n\n`python tests/simulations/curves.py`: "
          f"{RUNS} sets each, level {LEVEL:g};")  # fmt: skip
    print("in brackets 95 % intervals of the simulation.")
    print_told((10, 15, 20, 40))


if __name__ == "__main__":
    main()
