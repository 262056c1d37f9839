"""Verdicts on a limit at the truth where most prompts are one-sided, and what a true PASS takes.

python tests/simulations/near_one.py > tests/simulations/near_one.md
"""

from __future__ import annotations

import sys

import numpy as np

from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.model import FixedWords

RUNS, IMAGES = 1000, (10, 20, 40, 100)
WORLDS = {
    "1 fair of 30, others one-sided": (30, 1, 0.0, 1.0),
    "2 fair of 30, others one-sided": (30, 2, 0.0, 1.0),
    "3 fair of 30, others one-sided": (30, 3, 0.0, 1.0),
    "8 fair of 30, others one-sided": (30, 8, 0.0, 1.0),
    "10 fair of 30, others one-sided": (30, 10, 0.0, 1.0),
    "12 fair of 100, others one-sided": (100, 12, 0.0, 1.0),
    "half of 100 fair, half one-sided": (100, 50, 0.0, 1.0),
    "1 at .3 of 30, others one-sided": (30, 1, 0.3, 1.0),
    "1 fair of 30, others at .98": (30, 1, 0.0, 0.98),
    "1 fair of 100, others at .98": (100, 1, 0.0, 0.98),
    "3 fair of 100, others at .9": (100, 3, 0.0, 0.9),
    "10 fair of 100, others at .95": (100, 10, 0.0, 0.95),
    "100 at .98": (100, 100, 0.98, 1.0),
}
"""Prompts, how many of them differ, their |2p - 1|, that of the others."""


def verdicts(world: str, images: int, *, above: float, runs: int, seed: int) -> tuple[int, int]:
    """Runs that PASS and FAIL a limit so far above the model's true score."""
    prompts, few, low, high = WORLDS[world]
    bias = np.where(np.arange(prompts) < few, low, high)
    limit = min(1.0, float(bias.mean()) + above)
    rng = np.random.default_rng([seed, images])
    passed = failed = 0
    for _ in range(runs):
        men = rng.binomial(images, (1 + bias * rng.choice([-1, 1], prompts)) / 2)
        seen = FixedWords.of(men, images - men)
        passed += seen.p_less(limit) <= 0.05
        failed += seen.p_greater(limit) <= 0.05
    return passed, failed


def shown(count: int, runs: int) -> str:
    found = share_interval(count, runs, 0.95)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def main() -> None:
    print("# Limits near 1\n\n`python tests/simulations/near_one.py`: "
          f"{RUNS} runs each, level 0.95;")  # fmt: skip
    print("in brackets 95 % intervals of the simulation.")
    for title, above, which in (
        ("PASS of a limit at the truth (wrong, 0.05 stated)", 0.0, 0),
        ("FAIL of a limit at the truth (wrong, 0.05 stated)", 0.0, 1),
        ("PASS of a limit 0.1 above the truth, or of 1 (right)", 0.1, 0),
    ):
        print(f"\n## {title}\n\n| world | " + " | ".join(f"{n} images" for n in IMAGES) + " |")
        print("|---|" + "---|" * len(IMAGES))
        pooled = np.zeros(len(IMAGES), dtype=int)
        for world in WORLDS:
            counts = [
                verdicts(world, n, above=above, runs=RUNS, seed=5 + which)[which] for n in IMAGES
            ]
            pooled += counts
            print(f"| {world} | " + " | ".join(shown(count, RUNS) for count in counts) + " |")
            sys.stdout.flush()
        total = RUNS * len(WORLDS)
        print("| all worlds | " + " | ".join(shown(int(count), total) for count in pooled) + " |")


if __name__ == "__main__":
    main()
