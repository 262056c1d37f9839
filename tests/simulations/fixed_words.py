"""Coverage and misses of the interval about these prompts.

    python tests/simulations/fixed_words.py > tests/simulations/fixed_words.md

Words are kept, images are drawn anew in each repeat. A limit at the truth is the hardest one: a
FAIL or a PASS of it at one-sided 5 % is wrong, and is counted as such.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from worlds import FIXED

from pytest_t2i import statistics
from pytest_t2i.statistics.model import FixedWords

PROMPTS = (1, 3, 10, 100)
IMAGES = (4, 8, 10, 20, 40, 100)
UNEQUAL = ("2 to 40 images", "30 % undetected")
LEVEL = 0.95


class Found(NamedTuple):
    """Rates of one cell."""

    too_high: float
    """Share of 95 % intervals above the truth."""
    too_low: float
    failed: float
    """Share of runs that FAIL a limit at the truth, at one-sided 5 %."""
    passed: float
    half: float
    """Median half-width."""

    @property
    def coverage(self) -> float:
        """Of the two-sided 95 % interval."""
        return 1.0 - self.too_high - self.too_low


def images_of(kind: str, n: int, prompts: int, rng: np.random.Generator) -> np.ndarray:
    """Clear images of each prompt: n; n on average but unequal; or n less what is lost."""
    if kind == UNEQUAL[0]:
        return np.resize([2, 5, 10, 20, 30, 40], prompts)
    if kind == UNEQUAL[1]:
        lost = np.resize([0.0, 0.15, 0.3, 0.45, 0.6], prompts)
        return np.maximum(1, rng.binomial(n, 1.0 - lost))
    return np.full(prompts, n)


def simulate(
    bias: np.ndarray, n: int, repeats: int, *, kind: str = "", widths: int = 0, seed: int = 0
) -> Found:
    """Rates of fixed prompts with these |2p - 1|, a prompt in two leaning to men."""
    rng = np.random.default_rng(seed)
    share = (1.0 + bias * np.resize([1.0, -1.0], len(bias))) / 2.0
    truth = float(np.mean(bias))
    evidence = np.zeros((repeats, 2))
    half = []
    for repeat in range(repeats):
        clear = images_of(kind, n, len(bias), rng)
        men = rng.binomial(clear, share)
        seen = FixedWords.of(men, clear - men)
        evidence[repeat] = seen.p_greater(truth), seen.p_less(truth)
        if repeat < widths:
            entry = statistics.model_bias_interval(men, clear - men, level=LEVEL, seed=0)
            half.append((entry.high - entry.low) / 2)
    end, sided = (np.mean(evidence <= error, axis=0) for error in (0.025, 0.05))
    return Found(*end, *sided, float(np.median(half or [0.0])))


def cells(repeats: int, widths: int) -> Iterator[tuple[tuple[str, int, int], Found]]:
    """Every world at all numbers of prompts and images."""
    for prompts in PROMPTS:
        for world, bias in FIXED.items():
            for n in IMAGES:
                result = simulate(bias(prompts), n, repeats, widths=widths)
                yield (world, prompts, n), result
    for kind in UNEQUAL:
        for prompts in PROMPTS[1:]:
            for world in ("sdxl", "all at 0.2", "20 % at 0.8, rest fair", "fair"):
                bias = FIXED[world](prompts)
                result = simulate(bias, 20, repeats // 3, kind=kind, widths=widths // 2)
                yield (f"{world}; {kind}", prompts, 20), result


def row(cell: tuple[str, int, int], found: Found) -> str:
    """A line of the table."""
    world, prompts, n = cell
    return (
        f"| {world} | {prompts} | {n} | {found.coverage:.3f} | {found.too_high:.3f} "
        f"| {found.too_low:.3f} | {found.failed:.3f} | {found.passed:.3f} "
        f"| {found.half:.3f} |"
    )


def decided(world: str, prompts: int, n: int, limit: float, repeats: int) -> tuple[float, float]:
    """Share of runs that FAIL and that PASS a limit, at one-sided 5 %."""
    rng = np.random.default_rng(3)
    share = (1.0 + FIXED[world](prompts)) / 2.0
    verdicts = np.zeros((repeats, 2))
    for repeat in range(repeats):
        men = rng.binomial(n, share)
        seen = FixedWords.of(men, n - men)
        verdicts[repeat] = seen.p_greater(limit), seen.p_less(limit)
    failed, passed = np.mean(verdicts <= 0.05, axis=0)
    return float(failed), float(passed)


def main(repeats: int = 1000, widths: int = 8) -> None:
    """Print the tables."""
    print("# Fixed words: simulation\n")
    print(f"Made by `python tests/simulations/fixed_words.py {repeats} {widths}`, seeded.")
    print(f"{repeats} repeats a row, a third of it where images are unequal; half-widths are")
    print(f"medians of {widths} (half of it there). `too high`, `too low`: 95 %")
    print("intervals above and below the truth (2.5 % each is the level). `FAIL`, `PASS`: verdicts")
    print("on a limit at the truth, one-sided 5 %.\n")
    print("| world | prompts | images | coverage | too high | too low | FAIL | PASS | half-width |")
    print("|---|---|---|---|---|---|---|---|---|")
    worst = []
    for cell, result in cells(repeats, widths):
        print(row(cell, result), flush=True)
        worst.append((max(result.failed, result.passed), cell))
    print("\nHighest rates of wrong verdicts at 5 %:\n")
    for rate, (world, prompts, n) in sorted(worst, reverse=True)[:8]:
        print(f"- {rate:.3f}: {world}, {prompts} prompts, {n} images")
    print("\n## Decided\n\nAt one-sided 5 %.\n")
    print("| world | prompts | images | limit | FAIL | PASS |\n|---|---|---|---|---|---|")
    for world, prompts, n, limit in (
        ("sdxl", 100, 20, 0.7), ("sdxl", 100, 10, 0.7), ("sdxl", 100, 20, 0.2),
        ("fair", 100, 20, 0.2), ("fair", 100, 10, 0.2), ("all at 0.1", 100, 20, 0.2),
        ("sdxl", 10, 100, 0.7), ("fair", 10, 40, 0.2), ("fair", 10, 100, 0.2),
        ("fair", 3, 100, 0.2), ("fair", 1, 100, 0.2), ("all at 0.9", 3, 20, 0.5),
        ("5 % at 0.9, rest fair", 100, 20, 0.2), ("20 % at 0.8, rest fair", 100, 20, 0.1),
    ):  # fmt: skip
        failed, passed = decided(world, prompts, n, limit, repeats)
        print(f"| {world} | {prompts} | {n} | {limit} | {failed:.3f} | {passed:.3f} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
