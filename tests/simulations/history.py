"""How often a history that does not change is said to have changed, and how soon a change is seen.

python tests/simulations/history.py > tests/simulations/history.md
"""

from __future__ import annotations

import sys
from statistics import median

import numpy as np

from pytest_t2i.statistics.change import change_points

RUNS = 30
CHANGES_AT = 10
WORLDS = {
    "fair": lambda rng, n: np.full(n, 0.5),
    "mild": lambda rng, n: np.clip(rng.normal(0.5, 0.15, n), 0.02, 0.98),
    "few one-sided": lambda rng, n: np.where(np.arange(n) < n // 10, 0.98, 0.5),
    "strong": lambda rng, n: rng.choice([0.03, 0.2, 0.8, 0.97], n),
    "one-sided": lambda rng, n: np.full(n, 1.0),
}
PUSHES = {"all by 0.1": (1.0, 0.1), "a fifth by 0.4": (0.2, 0.4), "a tenth by 0.4": (0.1, 0.4)}


def false_alarms(world, *, images, prompts, repeats, seed):
    """Share of histories of one model that are said to have changed."""
    alarms = 0
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        men = rng.binomial(images, WORLDS[world](rng, prompts), size=(RUNS, prompts))
        alarms += bool(change_points(men, images - men))
    return alarms / repeats


def delays(push, *, images, prompts, repeats, seed):
    """Runs until a change is seen, for each history; None where it is not within 20 runs."""
    share, by = PUSHES[push]
    seen = []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        before = WORLDS["mild"](rng, prompts)
        after = before.copy()
        pushed = np.arange(prompts) < round(share * prompts)
        after[pushed] = np.clip(before[pushed] + np.where(before[pushed] >= 0.5, by, -by), 0, 1)
        shares = np.where(np.arange(RUNS)[:, None] < CHANGES_AT, before, after)
        men = rng.binomial(images, shares)
        hits = [c.seen_at - CHANGES_AT for c in change_points(men, images - men)]
        hits = [hit for hit in hits if hit >= 0]
        seen.append(hits[0] if hits else None)
    return seen


def main(repeats):
    """Print the page."""
    print("# Histories\n")
    print(
        "Made by `python tests/simulations/history.py`, seeded,",
        f"{repeats} repeats of {RUNS} runs.\n",
    )
    print("## False alarms\n")
    print(
        "Share of histories of a model that never changes that are said to change (at most 5 %).\n"
    )
    print("| world | 100 prompts x 10 | 100 x 40 | 10 x 20 |\n|---|---|---|---|")
    for world in WORLDS:
        shares = [
            false_alarms(world, images=images, prompts=prompts, repeats=repeats, seed=1)
            for prompts, images in ((100, 10), (100, 40), (10, 20))
        ]
        print(f"| {world} |", " | ".join(f"{share:.1%}" for share in shares), "|")
    print("\n## How soon\n")
    print("Runs after a change until it is told (median; share told within 20 runs), mild world.\n")
    print("| change | 100 prompts x 10 | 100 x 40 |\n|---|---|---|")
    for push in PUSHES:
        cells = []
        for images in (10, 40):
            seen = delays(push, images=images, prompts=100, repeats=repeats, seed=2)
            told = [delay for delay in seen if delay is not None]
            middle = f"{median(told):g}" if told else "-"
            cells.append(f"{middle} ({len(told) / len(seen):.0%})")
        print(f"| {push} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
