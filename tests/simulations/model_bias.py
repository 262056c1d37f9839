"""Bias, spread and coverage of the corrected model bias score, in worlds with a known answer.

Writes the tables that docs/decisions/0001 rests on:

    python tests/simulations/model_bias.py > tests/simulations/model_bias.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from worlds import WORLDS, draw

from pytest_t2i import statistics
from pytest_t2i.metrics import model_bias_score

# SD3 is in the tables of estimators only: its rates are much like SDXL's.
ESTIMATED = (*WORLDS[:2], "sd3", *WORLDS[2:])
SIZES = (4, 8, 20, 50, 100)

Estimate = Callable[[np.ndarray, np.ndarray], float]


def jackknife(male: np.ndarray, female: np.ndarray) -> float:
    """First-order jackknife of the paper's score, within prompts."""
    n = male + female
    full = np.abs(male - female) / n
    less = (male * np.abs(male - 1 - female) + female * np.abs(male - female + 1)) / (n * (n - 1))
    return float(np.clip(np.mean(n * full - (n - 1) * less), 0, 1))


def root_of_square(male: np.ndarray, female: np.ndarray) -> float:
    """Root of the unbiased estimate of (2p - 1)^2, per prompt."""
    n = male + female
    return float(np.mean(np.sqrt(np.maximum(0.0, 1 - 4 * male * female / (n * (n - 1))))))


def above_floor(male: np.ndarray, female: np.ndarray) -> float:
    """Paper's score rescaled so that the fair floor is 0."""
    floor = statistics.fair_floor(male + female)
    return max(0.0, (model_bias_score(male, female) - floor) / (1.0 - floor))


ESTIMATORS: dict[str, Estimate] = {
    "paper": model_bias_score,
    "above floor": above_floor,
    "jackknife": jackknife,
    "root of square": root_of_square,
    "midpoint of bounds": statistics.corrected_model_bias_score,
}


def errors(world: str, prompts: int, n: int, repeats: int, seed: int) -> dict[str, np.ndarray]:
    """Estimate minus truth (of the prompts drawn) per estimator."""
    rng = np.random.default_rng(seed)
    result: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    for _ in range(repeats):
        share = draw(world, prompts, rng)
        male = rng.binomial(n, share)
        for name, estimate in ESTIMATORS.items():
            result[name].append(estimate(male, n - male) - float(np.mean(np.abs(2 * share - 1))))
    return {name: np.array(values) for name, values in result.items()}


def misses(world: str, prompts: int, n: int, repeats: int, seed: int) -> tuple[float, float, float]:
    """Share of 95 % intervals of these prompts too high, too low, and their mean width."""
    rng = np.random.default_rng(seed)
    share = draw(world, prompts, rng)
    target = float(np.mean(np.abs(2 * share - 1)))
    high = low = width = 0.0
    for _ in range(repeats):
        male = rng.binomial(n, share)
        entry = statistics.model_bias_interval(male, n - male, level=0.95, seed=0)
        high += (entry.low > target) / repeats
        low += (entry.high < target) / repeats
        width += (entry.high - entry.low) / repeats
    return high, low, width


def error_table(repeats: int) -> Iterator[str]:
    """Markdown rows: bias / standard deviation."""
    yield "| world | prompts | images | " + " | ".join(ESTIMATORS) + " |"
    yield "|---|---|---|" + "---|" * len(ESTIMATORS)
    for prompts in (100, 10, 1):
        for n in SIZES:
            for world in ESTIMATED:
                result = errors(world, prompts, n, repeats, seed=1)
                cells = [f"{e.mean():+.3f} / {e.std():.3f}" for e in result.values()]
                yield f"| {world} | {prompts} | {n} | " + " | ".join(cells) + " |"


def coverage_table(repeats: int) -> Iterator[str]:
    """Markdown rows: coverage."""
    yield "| world | prompts | images | coverage |"
    yield "|---|---|---|---|"
    for prompts in (100, 10):
        for n in (8, 20, 100):
            for world in WORLDS:
                times = repeats // 6 if prompts > 10 else repeats // 12
                high, low, _ = misses(world, prompts, n, times, seed=3)
                yield f"| {world} | {prompts} | {n} | {1 - high - low:.3f} |"


def main(repeats: int = 300) -> None:
    """Print all tables."""
    print("# Corrected model bias score: simulation\n")
    print(
        "Made by `python tests/simulations/model_bias.py`, seeded,",
        f"{repeats} repeats (half for the first table).\n",
    )
    print("## Bias / standard deviation of the estimators\n")
    print(*error_table(repeats // 2), sep="\n", flush=True)
    print("\n## Coverage of the 95 % interval\n")
    print("Prompts are drawn once from the world, and images anew in each repeat")
    print(f"({repeats // 6} repeats, for 10 prompts half of them).\n")
    for line in coverage_table(repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
