"""Whether a run delivers the power that ``t2i plan`` promises: drawn and judged as a run is.

python tests/simulations/plan.py > tests/simulations/plan.md
"""

from __future__ import annotations

import sys

import numpy as np
from worlds import FIXED

from pytest_t2i.cli.plan import gate_power, model_power
from pytest_t2i.statistics import (
    Design,
    family_p_values,
    model_bias_p_value,
    one_sided,
    paired_model_bias_change,
    prompt_bias_p_values,
    prompt_power,
    share_interval,
)

LEVEL, RUNS = 0.95, 1000
ERROR = 1.0 - LEVEL + 1e-12
PROMPTS = (
    (100, 14, 0.97, 0.5),
    (100, 20, 1.0, 0.5),
    (100, 30, 0.9, 0.5),
    (100, 40, 0.85, 0.5),
    (100, 25, 0.8, 0.2),
    (30, 20, 0.98, 0.5),
    (10, 20, 0.95, 0.5),
    (8, 12, 0.9, 0.1),
    (4, 20, 0.95, 0.5),
    (300, 40, 0.9, 0.6),
    (100, 20, 0.0, 0.5),
    (100, 40, 0.2, 0.5),
)
"""Prompts, images, |2p - 1| of the one that is asked about, limit."""
MODELS = (
    ("sdxl", 100, 20, 0.6),
    ("sdxl", 100, 10, 0.8),
    ("dreamlike", 30, 20, 0.6),
    ("sd3", 30, 20, 0.9),
    ("all at 0.2", 100, 20, 0.1),
    ("all at 0.5", 30, 10, 0.3),
    ("all at 0.1", 100, 20, 0.2),
    ("5 % at 0.9, rest fair", 100, 40, 0.02),
    ("20 % at 0.8, rest fair", 100, 20, 0.1),
    ("20 % at 0.8, rest fair", 30, 40, 0.3),
    ("half at 0.95, half fair", 30, 10, 0.3),
    ("half at 0.95, half at 0.3", 100, 20, 0.55),
)
"""World, prompts, images, limit."""

GATES = (
    ("sdxl", 100, 20, 0.05),
    ("sdxl", 100, 80, 0.05),
    ("dreamlike", 30, 80, 0.1),
    ("fair", 30, 160, 0.1),
    ("fair", 100, 100, 0.05),
    ("all at 0.2", 30, 160, 0.1),
    ("20 % at 0.8, rest fair", 30, 80, 0.1),
)
"""World, prompts, images, margin."""


def gate_delivered(world, prompts, images, margin, *, runs, seed):
    """Runs in which an unchanged model passes its baseline, with other seeds."""
    rng = np.random.default_rng(seed)
    bias, passed = FIXED[world](prompts), 0
    for run in range(runs):
        men, now = rng.binomial(images, (1 + bias * rng.choice([-1, 1], prompts)) / 2, (2, prompts))
        change = paired_model_bias_change(
            men, images - men, now, images - now, level=one_sided(LEVEL), seed=run
        )
        passed += change.high <= margin
    return passed


def prompt_delivered(prompts, images, bias, limit, *, runs, seed):
    """Runs in which the one prompt gets the right verdict, among others that are fair."""
    rng = np.random.default_rng(seed)
    right = 0
    for _ in range(runs):
        men = rng.binomial(images, np.append((1 + bias) / 2, np.full(prompts - 1, 0.5)))
        if bias > limit:
            p = family_p_values(men, images - men, limit, level=LEVEL)
        else:
            p = prompt_bias_p_values(men, images - men, limit, "within")
        right += p[0] <= ERROR
    return right


def model_delivered(world, prompts, images, limit, *, runs, seed):
    """Runs of a world's prompts in which the model gets the right verdict, and its true score."""
    rng = np.random.default_rng(seed)
    bias = FIXED[world](prompts)
    alternative = "greater" if bias.mean() > limit else "less"
    right = 0
    for _ in range(runs):
        men = rng.binomial(images, (1 + bias * rng.choice([-1, 1], prompts)) / 2)
        p = model_bias_p_value(men, images - men, limit, alternative=alternative)
        right += p <= ERROR
    return right, float(bias.mean())


def shown(right, runs):
    found = share_interval(right, runs, 0.95)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def main() -> None:
    print(f"# What `t2i plan` promises\n\n`tests/simulations/plan.py`, {RUNS} runs each, seeds of")
    print("their own; in brackets 95 % intervals of the simulation.\n")
    print("## A prompt among fair ones\n")
    print("| prompts | images | score | limit | promised | delivered |\n|---|---|---|---|---|---|")
    gaps = []
    for prompts, images, bias, limit in PROMPTS:
        promised = prompt_power(bias, limit, images, Design(prompts))
        right = prompt_delivered(prompts, images, bias, limit, runs=RUNS, seed=41)
        gaps.append(abs(promised - right / RUNS))
        print(f"| {prompts} | {images} | {bias:g} | {limit:g} | {promised:.3f} |", end=" ")
        print(f"{shown(right, RUNS)} |")
        sys.stdout.flush()
    print(f"\nLargest distance: {max(gaps):.3f}.\n\n## A model\n")
    print("Promised is the smallest power over six spreads of the same score, 200 suites each.\n")
    print("| world | score | prompts | images | limit | promised | delivered |")
    print("|---|---|---|---|---|---|---|")
    for world, prompts, images, limit in MODELS:
        right, score = model_delivered(world, prompts, images, limit, runs=RUNS, seed=42)
        promised = model_power(score, limit, images, Design(prompts, repeats=200))
        print(f"| {world} | {score:.2f} | {prompts} | {images} | {limit:g} |", end=" ")
        print(f"{promised:.2f} | {shown(right, RUNS)} |", flush=True)
    print_gates(RUNS // 5)


def print_gates(runs: int) -> None:
    """The table of gates."""
    print(f"\n## An unchanged model against its baseline\n\n{runs} runs each, with other seeds.")
    print("Promised is the smallest power over three scores.\n")
    print("| world | prompts | images | margin | promised | passed |\n|---|---|---|---|---|---|")
    for world, prompts, images, margin in GATES:
        passed = gate_delivered(world, prompts, images, margin, runs=runs, seed=43)
        promised = gate_power(margin, images, Design(prompts))
        print(f"| {world} | {prompts} | {images} | {margin:g} | {promised:.2f} |", end=" ")
        print(f"{shown(passed, runs)} |", flush=True)


if __name__ == "__main__":
    main()
