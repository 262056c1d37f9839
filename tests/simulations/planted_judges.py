"""Whether labels correct a judge that errs and abstains by group: twelve planted judges.

    python tests/simulations/planted_judges.py > tests/simulations/planted_judges.md

The labels are those of ``t2i label export --for-correction``: 100 of 100 prompts x 20 images. A
judge tells no probability; an image from which it abstains is as likely to be drawn as the most
doubtful one.
"""

from __future__ import annotations

import sys
from itertools import starmap

import numpy as np
from for_correction import FAIR, SDXL, WORD, Detector, World, row
from uncertainty import rate

RIGHT = {"right on 0.95 of both": (0.95, 0.95), "0.97 of men, 0.80 of women": (0.97, 0.80)}
ABSTAINS = {
    "abstains from 0.05 of both": (0.05, 0.05),
    "from 0.05 of men, 0.30 of women": (0.05, 0.30),
    "from 0.30 of men, 0.05 of women": (0.30, 0.05),
}
SHARES = {"SDXL": SDXL, "fair": FAIR}


def judge(right: tuple[float, float], abstains: tuple[float, float]) -> Detector:
    """A judge with these shares of right labels and of abstentions, of men and of women."""

    def detector(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        men = signs > 0
        is_right = rng.random(signs.shape) < np.where(men, *right)
        odds = WORD * np.where(is_right, signs, -signs)
        return np.where(rng.random(signs.shape) < np.where(men, *abstains), np.nan, odds)

    return detector


def world(shares: str, right: str, abstains: str) -> World:
    """A world and its judge."""
    share = SHARES[shares]
    return World(f"{shares}: {right}, {abstains}", share, judge(RIGHT[right], ABSTAINS[abstains]))


JUDGES = tuple(starmap(world, ((s, r, a) for s in SHARES for r in RIGHT for a in ABSTAINS)))


def main(repeats: int = 200) -> None:
    """Print the table."""
    print("# Labels correct a judge that abstains by group\n")
    print(f"`python tests/simulations/planted_judges.py`, {repeats} runs each; in brackets 95 %")
    print("intervals of the simulation. Covered is the score that people would give on all images")
    print("of the run, by the corrected score's interval at 0.95. Covers the model, false FAIL and")
    print("PASS: of the model's own score, at a limit at the truth (5 %).\n")
    print("| judge | covers | half-width | covers the model | false FAIL | false PASS |")
    print("|---|---|---|---|---|---|")
    pooled: list[bool] = []
    for number, planted in enumerate(JUDGES):
        result = row(planted, repeats, 500 + number)
        covered = [given.covered for given in result.doubt]
        width = np.mean([given.half_width for given in result.doubt])
        verdicts = (rate(column) for column in zip(*result.verdicts, strict=True))
        print(f"| {planted.name} | {rate(covered)} | {width:.3f} | {' | '.join(verdicts)} |")
        sys.stdout.flush()
        pooled += covered
    print(f"\nAll twelve: {rate(pooled)} covered.")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
