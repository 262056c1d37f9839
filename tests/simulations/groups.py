"""Corrected groups cover in twelve planted worlds of three to five groups.

The detector's confusion is known and uneven, some images stay without a label, and a random part of
all images of a run is labelled:

    python tests/simulations/groups.py > tests/simulations/groups.md
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from pytest_t2i.audits.peoples_labels import MOST_LEFT_OUT
from pytest_t2i.statistics.correction import LEAST_LABELS, corrected_counts, corrected_shares
from pytest_t2i.statistics.distances import mean_total_variation_interval

PROMPTS, IMAGES, LEVEL = 40, 20, 0.95
LABELLED = 0.5
"""Share of all images that are labelled, wherever they fall."""
UNDETECTED = 0.1
NUMBERS = (3, 4, 5)
KINDS = ("even", "one at 0.6", "mild", "strong")
WORLDS = [(number, kind) for number in NUMBERS for kind in KINDS]
REPEATS = 400


def shares_of(number: int, kind: str) -> np.ndarray:
    """What the model draws, [PROMPTS, number]; planted, the same in every run of the world."""
    rng = np.random.default_rng(number)
    if kind == "even":
        return np.full((PROMPTS, number), 1.0 / number)
    if kind == "one at 0.6":
        return np.tile([0.6] + [0.4 / (number - 1)] * (number - 1), (PROMPTS, 1))
    return rng.dirichlet(np.full(number, 20.0 if kind == "mild" else 0.5), PROMPTS)


def confusion(number: int) -> np.ndarray:
    """Rows: what a picture shows, columns: what the detector says; the last group fares worst.

    A wrong word is the neighbouring group's, as an age or a tone is taken for the next one.
    """
    right = np.linspace(0.95, 0.7, number)
    table = np.diag(right)
    for group in range(number):
        table[group, group - 1 if group else 1] += 1.0 - right[group]
    return table


def pick(rng: np.random.Generator, shares: np.ndarray) -> np.ndarray:
    """One group from each row of shares, [...]."""
    edges = shares.cumsum(axis=-1)
    return (rng.random((*shares.shape[:-1], 1)) > edges[..., :-1]).sum(axis=-1)


def draw(
    number: int, kind: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """People's groups, the detector's, and which images are labelled, [PROMPTS, IMAGES] each."""
    shares = np.repeat(shares_of(number, kind)[:, None, :], IMAGES, axis=1)
    people = pick(rng, shares)
    words = pick(rng, confusion(number)[people])
    words = np.where(rng.random(words.shape) < UNDETECTED, -1, words)
    chosen = np.zeros(people.size, dtype=bool)
    chosen[rng.permutation(people.size)[: round(LABELLED * people.size)]] = True
    return people, words, chosen.reshape(people.shape)


def distance(shares: np.ndarray) -> float:
    """Mean over prompts of half the L1 distance from even shares."""
    return float(np.abs(shares - 1.0 / shares.shape[1]).sum(axis=1).mean() / 2.0)


@dataclass(frozen=True)
class Found:
    """What one world showed, as shares of its runs that were not refused."""

    refused: float
    """Of all runs."""
    covered: float
    above: float
    """Runs whose interval lies above the truth: a FAIL of the limit that is just kept."""
    below: float
    shares: float
    """Shares of groups, of these images by people, that are covered."""
    uncorrected: float
    """Runs in which the detector's own counts cover."""
    error: float
    """Mean estimate less the truth."""
    width: float


def trial(number: int, kind: str, repeats: int, seed: int) -> Found:
    """A world, drawn again and again."""
    rng = np.random.default_rng(seed)
    truth, even = distance(shares_of(number, kind)), np.full(number, 1.0 / number)
    rows: list[tuple[float, ...]] = []
    for _ in range(repeats):
        people, words, chosen = draw(number, kind, rng)
        enough = chosen.sum(axis=1) >= LEAST_LABELS
        if np.sum(~enough) > MOST_LEFT_OUT * PROMPTS:
            continue
        known = np.where(chosen, people, np.nan)[enough]
        corrected = corrected_counts(list(words[enough]), list(known), number)
        found = mean_total_variation_interval(corrected.counts, even, level=LEVEL)
        own = np.array([np.bincount(row[row >= 0], minlength=number) for row in words])
        plain = mean_total_variation_interval(own, even, level=LEVEL)
        shares = corrected_shares(list(words[enough]), list(known), number, LEVEL).shares
        actual = np.bincount(people[enough].ravel(), minlength=number) / people[enough].size
        rows.append(
            (
                truth in found,
                found.low > truth,
                found.high < truth,
                float(np.mean([a in i for i, a in zip(shares, actual, strict=True)])),
                truth in plain,
                found.estimate - truth,
                found.high - found.low,
            )
        )
    means = np.mean(np.array(rows, dtype=float), axis=0).tolist()
    return Found(1.0 - len(rows) / repeats, *means)


def main(repeats: int) -> None:
    """The table."""
    print("# Groups corrected by people's labels\n")
    print(
        f"`python tests/simulations/groups.py`: {repeats} runs of each of twelve worlds, {PROMPTS} "
        f"prompts x {IMAGES} images, of which a random {LABELLED:.0%} are labelled by people and "
        f"{UNDETECTED:.0%} have no word of the detector. It is right on 95 % of the first group, "
        "on 70 % of the last, and takes the others for their neighbours. *Covered*: the model's "
        "distance from even shares lies in the corrected interval of 95 %; *above*, *below*: the "
        "interval lies beyond it; *own*: the detector's counts cover it without labels. *Shares*: "
        "of these images by people. A run is *refused* where more than a tenth of its prompts have "
        f"fewer than {LEAST_LABELS} labels.\n"
    )
    print("| groups | world | distance | refused | covered | above | below | own | shares | "
          "error | width |\n|---|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for place, (number, kind) in enumerate(WORLDS):
        found = trial(number, kind, repeats, seed=place)
        print(
            f"| {number} | {kind} | {distance(shares_of(number, kind)):.3f} | {found.refused:.3f} "
            f"| {found.covered:.3f} | {found.above:.3f} | {found.below:.3f} "
            f"| {found.uncorrected:.3f} | {found.shares:.3f} | {found.error:+.3f} "
            f"| {found.width:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)
