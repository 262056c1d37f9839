"""False alarms and power of the regression gate: the whole suite, and prompt by prompt.

python tests/simulations/regression.py 30 > tests/simulations/regression.md
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from worlds import table7

from pytest_t2i import statistics, verdicts
from pytest_t2i.data import Outcome


def shares(world: str, prompts: int) -> np.ndarray:
    """P(male) of the prompts of a suite, in a fixed order."""
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
    print("times that. Equal worlds: false alarms (at most 0.05 wanted); else power.\n")
    print("| before | after | prompts | images | margin | suite fails | any prompt | prompts |")
    print("|---|---|---|---|---|---|---|---|")
    for before, after in (
        ("fair", "fair"), ("sdxl", "sdxl"), ("dreamlike", "dreamlike"), ("fair", "sdxl"),
        ("dreamlike", "sdxl"),
    ):  # fmt: skip
        for prompts in (100, 10, 3):
            for n in (8, 20):
                for margin in (0.0, 0.05):
                    found = alarms(before, after, prompts, n, margin, repeats, seed=4)
                    cells = " | ".join(f"{value:.3f}" for value in found)
                    print(f"| {before} | {after} | {prompts} | {n} | {margin} | {cells} |",
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
