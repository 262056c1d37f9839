"""Which worsenings of SDXL's published rates the regression gates find, beside plain gates.

python tests/simulations/power.py > tests/simulations/power.md
"""

from __future__ import annotations

import sys

import numpy as np
from false_alarms import IMAGES, LEVEL, PROMPTS, RESAMPLES, regression_p_values
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.metrics import model_bias_score

MARGIN, PROMPT_MARGIN = 0.05, 0.2
GATES = ("model", "model, no margin", "prompts", "prompts, no margin", "went up", "threshold")


def pushed(score: np.ndarray, prompts: int, push: float, rng: np.random.Generator) -> np.ndarray:
    """Scores with |score| of some prompts grown by ``push``, as far as 1 allows.

    The prompts are drawn among those that have room for it; where there are too few, the least
    biased ones that are left are taken as well.
    """
    order = rng.permutation(len(score))
    order = order[np.argsort(np.maximum(np.abs(score[order]), 1 - push), kind="stable")]
    grown = score.copy()
    chosen = order[:prompts]
    side = np.where(score[chosen] < 0, -1.0, 1.0)
    grown[chosen] = side * np.minimum(1.0, np.abs(score[chosen]) + push)
    return grown


def gates(prompts: int, push: float, repeats: int, seed: int, n: int = IMAGES) -> dict[str, float]:
    """How often each gate fails; the true change; the share of the pushed prompts that are found.

    ``went up`` fails when the paper's score is above the baseline's, ``threshold`` when it is so
    by more than the model's margin.
    """
    rng = np.random.default_rng(seed)
    score = 2 * table7("sdxl") - 1
    found = dict.fromkeys((*GATES, "change", "found"), 0.0)
    for repeat in range(repeats):
        now = pushed(score, prompts, push, rng)
        before, after = (rng.binomial(n, (1 + s) / 2) for s in (score, now))
        change = statistics.paired_model_bias_change(
            before, n - before, after, n - after,
            level=LEVEL, seed=seed + repeat, resamples=RESAMPLES,
        )  # fmt: skip
        failed = {
            margin: statistics.benjamini_hochberg(regression_p_values(margin)[after, before])
            <= 1 - LEVEL
            for margin in (0.0, PROMPT_MARGIN)
        }
        rise = model_bias_score(after, n - after) - model_bias_score(before, n - before)
        worse = np.abs(now) > np.abs(score)
        row = {
            "model": change.low > MARGIN,
            "model, no margin": change.low > 0,
            "prompts": failed[PROMPT_MARGIN].any(),
            "prompts, no margin": failed[0.0].any(),
            "went up": rise > 0,
            "threshold": rise > MARGIN,
            "change": float(np.mean(np.abs(now)) - np.mean(np.abs(score))),
            "found": float(np.mean(failed[0.0][worse])) if worse.any() else 0.0,
        }
        for name, value in row.items():
            found[name] += float(value) / repeats
    return found


def smallest(prompts: int, gate: str, repeats: int, power: float = 0.8) -> tuple[float, float]:
    """The smallest push of so many prompts that a gate finds, and the change of the model."""
    for push in np.arange(0.1, 1.01, 0.1):
        found = gates(prompts, float(push), repeats, seed=3)
        if found[gate] >= power:
            return float(push), found["change"]
    return np.nan, np.nan


def main(repeats: int = 300) -> None:
    """Print the tables."""
    print("# Power of the regression gates: simulation\n")
    print(f"Made by `python tests/simulations/power.py {repeats}`, seeded, {repeats} repeats")
    print(f"({repeats // 3} in the second table). SDXL's rates of Lyu Table 7, {PROMPTS} prompts x")
    print(f"{IMAGES} images, other seeds before and after, confidence {LEVEL}. Some prompts are")
    print("pushed: their |score| grows as far as 1 allows (25 prompts have room for 0.4, 42 for")
    print("0.2). The model gate has a margin of 0.05 or none; the prompt gate (any prompt,")
    print("Benjamini-Hochberg) one of 0.2 or none. Beside them two gates without statistics: the")
    print("paper's score went up; it went up by more than 0.05. A row without a push shows false")
    print("alarms.\n")
    print(
        f"| prompts pushed | by | model changes by | {' | '.join(GATES)} | pushed prompts found |"
    )
    print("|---|---|---|" + "---|" * (len(GATES) + 1))
    for prompts, push in ((0, 0.0), *((k, d) for d in (0.2, 0.4) for k in (10, 20, 30))):
        r = gates(prompts, push, repeats, seed=2)
        cells = " | ".join(f"{r[name]:.3f}" for name in (*GATES, "found"))
        print(f"| {prompts} | {push} | {r['change']:+.3f} | {cells} |", flush=True)
    print("\n## Smallest push that is found with 80 % power\n")
    print("In steps of 0.1; in brackets the change of the model bias score.\n")
    shown = ("model", "model, no margin", "prompts, no margin")
    print(f"| prompts pushed | {' | '.join(shown)} |")
    print("|---|" + "---|" * len(shown))
    for prompts in (10, 20, 30, 60):
        cells = []
        for gate in shown:
            push, change = smallest(prompts, gate, repeats // 3)
            cells.append("none" if np.isnan(push) else f"{push:.1f} ({change:+.3f})")
        print(f"| {prompts} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
