"""Coverage of single prompts' scores that people's labels corrected, by effective counts.

The detector's errors, models and images are those of correction.py; a prompt's interval is the
exact one of as many images as would be as sure without labels:

    python tests/simulations/corrected_prompts.py > tests/simulations/corrected_prompts.md
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
from correction import IMAGES, LEVEL, MILD, SENSITIVITY, SPECIFICITY

from pytest_t2i.data import Interval
from pytest_t2i.statistics import corrected_scores, family_p_values, prompt_bias_interval

LIMIT = 0.5


@cache
def interval(male: int, female: int) -> Interval:
    """The exact interval of a prompt bias score."""
    return prompt_bias_interval(male, female, LEVEL)


def covers(found: Interval, score: float) -> bool:
    """Whether a score lies in an interval, rounding aside."""
    return found.low - 1e-9 <= score <= found.high + 1e-9


def trial(world: str, labels: int, repeats: int, seed: int) -> dict[str, float]:
    """Shares of prompts that are covered, and runs with a prompt that FAILs though it is within."""
    rng = np.random.default_rng(seed)
    size, rows = MILD[world], []
    side = np.where(np.arange(len(size)) % 2, 1.0, -1.0)
    share = (1.0 + size * side) / 2.0
    for _ in range(repeats):
        male = rng.random((len(size), IMAGES)) < share[:, None]
        right = rng.random(male.shape) < np.where(male, SENSITIVITY, SPECIFICITY)
        people = np.where(male, 1.0, -1.0)
        chosen = rng.random(male.shape).argsort(axis=1) < labels
        words = np.where(right, people, -people)
        known = np.where(chosen, people, np.nan)
        try:
            found = corrected_scores(list(words), list(known), LEVEL)
        except ValueError:  # one in a thousand looks as if it were not drawn at random
            continue
        men, women = np.array(found.effective_male), np.array(found.effective_female)
        own = (words > 0).sum(axis=1)
        beyond = family_p_values(men, women, LIMIT, level=LEVEL) <= 1.0 - LEVEL
        effective = [interval(int(m), int(w)) for m, w in zip(men, women, strict=True)]
        plain = [interval(int(m), IMAGES - int(m)) for m in own]
        scores = 2.0 * share - 1.0
        rows.append(
            (
                np.mean([covers(i, s) for i, s in zip(effective, scores, strict=True)]),
                np.mean([covers(i, s) for i, s in zip(plain, scores, strict=True)]),
                np.any(beyond & (size <= LIMIT)),
                np.mean(beyond & (size <= LIMIT)) / max(np.mean(beyond), 1e-9),
                np.mean(men + women),
            )
        )
    names = ("covered", "uncorrected", "false", "false share", "images")
    return dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))


def main(repeats: int) -> None:
    """The table."""
    print("# Prompts corrected by people's labels\n")
    print(
        f"`python tests/simulations/corrected_prompts.py`: {repeats} runs of 100 prompts x "
        f"{IMAGES} images, sensitivity {SENSITIVITY}, specificity {SPECIFICITY}. Share of prompts "
        "whose true score lies in the interval of 95 %, by the effective counts and by the "
        f"detector alone; runs in which a prompt within {LIMIT} FAILs, and such prompts among all "
        "that FAIL; effective images.\n"
    )
    print("| model | labels | covered | uncorrected | runs with a false FAIL | false of all FAILs "
          "| images |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for world in MILD:
        for labels in (5, 10):
            found = trial(world, labels, repeats, seed=labels)
            print(
                f"| {world} | {labels} | {found['covered']:.3f} | {found['uncorrected']:.3f} "
                f"| {found['false']:.3f} | {found['false share']:.3f} | {found['images']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
