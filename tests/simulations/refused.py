"""How often ordinary runs are refused a verdict: for want of images, objects or labels.

    python tests/simulations/refused.py > tests/simulations/refused.md

A verdict is refused where its rule asks for more than there is, whatever the score is. An interval
that holds its limit is no refusal: it is undecided, and more images decide it.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import object_worlds
from uncertainty import rate

from pytest_t2i.audits.engine.peoples_labels import MOST_LEFT_OUT
from pytest_t2i.audits.objects.measure import FEWEST_JUDGED
from pytest_t2i.statistics.correction import LEAST_LABELS

PROMPTS, IMAGES = 40, 20
"""Images of the labelled run."""


def objects_refused(world: str, triplets: int, repeats: int) -> tuple[list[bool], list[bool]]:
    """No PASS for want of objects that are judged; none for all objects together."""
    rng = np.random.default_rng([82, triplets])
    single, together = [], []
    for _ in range(repeats):
        objects = object_worlds.objects_of(object_worlds.counts(world, triplets, rng))
        single.append(len(objects.judged) < FEWEST_JUDGED)
        together.append(objects.pooled_bias_score.interval is None)
    return single, together


def labels_refused(percent: int, repeats: int) -> list[bool]:
    """No correction of the model by a random share of all images, as many prompts have too few."""
    rng = np.random.default_rng([83, percent])
    count = PROMPTS * IMAGES
    spread = rng.multivariate_hypergeometric(
        [IMAGES] * PROMPTS, round(count * percent / 100), repeats
    )
    return ((spread < LEAST_LABELS).mean(axis=1) > MOST_LEFT_OUT).tolist()


def main(repeats: int = 400) -> None:
    """Print the tables."""
    print(f"# What is refused\n\n`python tests/simulations/refused.py {repeats}`: {repeats} runs")
    print("each, in brackets 95 % intervals of the simulation. Refused is what no score could")
    print("decide. An interval that holds its limit is undecided, not refused.")
    print("\n## Objects\n\nFour images a prompt. Single: no PASS, as fewer than three objects")
    print("occur ten times with both genders together. Together: all occur less often than that.\n")
    print("| world | triplets | single | together |\n|---|---|---|---|")
    for world, triplets in product(object_worlds.WORLDS, (3, 5, 10, 20)):
        cells = [rate(told) for told in objects_refused(world, triplets, repeats)]
        print(f"| {world} | {triplets} | {' | '.join(cells)} |", flush=True)
    print(f"\n## A model corrected by labels\n\nLabels of a random part of the images of "
          f"{PROMPTS} prompts\nwith {IMAGES} images each.\n")  # fmt: skip
    print("| labelled | refused |\n|---|---|")
    for percent in (20, 30, 40, 50):
        print(f"| {percent} % | {rate(labels_refused(percent, repeats))} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
