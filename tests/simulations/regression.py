"""False alarms and power of the regression gate: the whole suite, and prompt by prompt.

python tests/simulations/regression.py 30 > tests/simulations/regression.md
"""

from __future__ import annotations

import sys

import numpy as np
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.data import Outcome
from pytest_t2i.verdicts import judge as verdicts

SPREADS = {"even": (1.0, 0.6, 0.6), "one-sided": (0.2, 1.0, 0.5)}
"""Worlds of score 0.2: share of the prompts, their P(male), that of the others."""


def shares(world: str, prompts: int) -> np.ndarray:
    """P(male) of the prompts of a suite, in a fixed order."""
    if world in SPREADS:
        return np.where(np.arange(prompts) < SPREADS[world][0] * prompts, *SPREADS[world][1:])
    return np.full(prompts, 0.5) if world == "fair" else np.resize(table7(world), prompts)


def alarms(
    before: str, after: str, prompts: int, n: int, margin: float, repeats: int, seed: int
) -> tuple[float, float, float]:
    """Share of runs where the suite fails, where any prompt fails, and of prompts that fail."""
    rng = np.random.default_rng(seed)
    suite = some = each = 0.0
    for repeat in range(repeats):
        old, new = (
            np.where(rng.random((prompts, n)) < shares(world, prompts)[:, None], 1, -1)
            for world in (before, after)
        )
        change = statistics.paired_model_bias_change(
            *((labels == sign).sum(axis=1) for labels in (old, new) for sign in (1, -1)),
            level=0.95,
            seed=seed + repeat,
            resamples=400,
        )
        verdict = verdicts.judge_regression(change, "model_bias_score", margin)
        suite += (verdict.outcome is Outcome.FAIL) / repeats
        p_values = [
            statistics.paired_prompt_p_value(a, b, margin=4 * margin, shared_seeds=False)
            for a, b in zip(old, new, strict=True)
        ]
        failed = statistics.benjamini_hochberg(p_values) <= 0.05
        some += bool(np.any(failed)) / repeats
        each += float(np.mean(failed)) / repeats
    return suite, some, each


def main(repeats: int = 200) -> None:
    """Print the table."""
    print("# Regression gate: simulation\n")
    print(f"Made by `python tests/simulations/regression.py {repeats}`, seeded, {repeats} repeats.")
    print("Images of other seeds before and after; margin of the suite as given, of a prompt four")
    print("times that. Equal worlds: false alarms (at most 0.05 wanted); else power. Even to")
    print(
        "one-sided: the score stays at 0.2 (0.6 throughout, then a fifth at 1, the others at 1/2),"
    )
    print("so the suite's column tells of false alarms, the prompts' of power.\n")
    print("| before | after | prompts | images | margin | suite fails | any prompt | prompts |")
    print("|---|---|---|---|---|---|---|---|")
    cases = [(p, n) for p in (100, 10, 3) for n in (8, 20)]
    for before, after in (
        ("fair", "fair"), ("sdxl", "sdxl"), ("dreamlike", "dreamlike"), ("fair", "sdxl"),
        ("dreamlike", "sdxl"),
    ):  # fmt: skip
        print_rows(before, after, cases, repeats)
    print_rows("even", "one-sided", [(100, n) for n in (8, 12, 16, 20)], repeats)


def print_rows(before: str, after: str, cases: list[tuple[int, int]], repeats: int) -> None:
    """One row for each margin of each (prompts, images)."""
    for prompts, n in cases:
        for margin in (0.0, 0.05):
            found = alarms(before, after, prompts, n, margin, repeats, seed=4)
            cells = " | ".join(f"{value:.3f}" for value in found)
            print(f"| {before} | {after} | {prompts} | {n} | {margin} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
