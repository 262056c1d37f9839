"""How often the worst case over a certificate's errors covers the true model bias score.

python tests/simulations/certificates.py > tests/simulations/certificates.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.verdicts.certificate import FEMALE, MALE, GroupErrors, Split, error_rates

BANDS = ("under 30", "30 to under 60", "60 and over")
LEVEL = 0.95
PROMPTS, IMAGES = 20, 40
LABELLED = 80
"""Labelled photographs of each gender and age band."""


class World(NamedTuple):
    """A detector's errors by age, and the ages that a model shows."""

    men: tuple[float, ...]
    """Share of the men of each band that the detector calls women."""
    women: tuple[float, ...]
    ages_of_men: tuple[float, ...]
    """Shares of the bands among the model's men."""
    ages_of_women: tuple[float, ...]
    bias: float
    """Largest absolute bias of a prompt; prompts lie evenly between it and its negative."""


WORLDS = {
    "no errors, all ages": World((0.0,) * 3, (0.0,) * 3, (1 / 3,) * 3, (1 / 3,) * 3, 0.4),
    "equal errors, all ages": World((0.05,) * 3, (0.05,) * 3, (1 / 3,) * 3, (1 / 3,) * 3, 0.4),
    "young men, a young model": World(
        (0.15, 0.04, 0.02), (0.01, 0.02, 0.05), (0.8, 0.15, 0.05), (0.8, 0.15, 0.05), 0.6
    ),
    "young men, an old model": World(
        (0.15, 0.04, 0.02), (0.01, 0.02, 0.05), (0.05, 0.25, 0.7), (0.05, 0.25, 0.7), 0.6
    ),
    "old women, old women": World(
        (0.02, 0.02, 0.02), (0.02, 0.03, 0.2), (0.4, 0.4, 0.2), (0.1, 0.1, 0.8), 0.3
    ),
    "young men, men only": World(
        (0.15, 0.04, 0.02), (0.01, 0.02, 0.05), (0.6, 0.3, 0.1), (0.1, 0.3, 0.6), 1.0
    ),
}


def certificate(world: World, rng: np.random.Generator) -> Split:
    """Draw labelled photographs, and what the detector says of them."""
    groups = {}
    for place, band in enumerate(BANDS):
        wrong_men = int(rng.binomial(LABELLED, world.men[place]))
        wrong_women = int(rng.binomial(LABELLED, world.women[place]))
        groups[band] = GroupErrors(
            {
                MALE: {MALE: LABELLED - wrong_men, FEMALE: wrong_men},
                FEMALE: {FEMALE: LABELLED - wrong_women, MALE: wrong_women},
            }
        )
    return Split(("age",), groups, (30.0, 60.0))


class Pictures(NamedTuple):
    """Labels and ages of a run."""

    male: np.ndarray
    """Pictures of each prompt that are said to show men, [n_prompts]."""
    weights: list[dict[str, float]]
    """Shares of the bands, as a run takes them: of each prompt, and of both labels."""
    truth: float


def pictures(world: World, rng: np.random.Generator) -> Pictures:
    """Draw the pictures of a run, and what the detector says of them."""
    bias = np.linspace(-world.bias, world.bias, PROMPTS)
    is_man = rng.random((PROMPTS, IMAGES)) < (1.0 + bias[:, None]) / 2.0
    ages = np.where(
        is_man,
        rng.choice(len(BANDS), is_man.shape, p=world.ages_of_men),
        rng.choice(len(BANDS), is_man.shape, p=world.ages_of_women),
    )
    rates = np.where(is_man, np.array(world.men)[ages], np.array(world.women)[ages])
    said_man = is_man ^ (rng.random(is_man.shape) < rates)
    parts = [*ages, ages[said_man], ages[~said_man]]
    weights = [
        {band: float(np.mean(part == place)) for place, band in enumerate(BANDS)}
        for part in parts
        if part.size
    ]
    return Pictures(said_man.sum(axis=1), weights, float(np.mean(np.abs(bias))))


def coverage(world: World, runs: int, seed: int) -> dict[str, float]:
    """Return how often each range covers the true score, and the width of the worst case."""
    rng = np.random.default_rng(seed)
    covered = {"labels alone": 0, "worst group": 0, "by age": 0}
    width = {"worst group": 0.0, "by age": 0.0}
    for _ in range(runs):
        split, run = certificate(world, rng), pictures(world, rng)
        interval = statistics.model_bias_interval(
            run.male, IMAGES - run.male, level=LEVEL, seed=seed
        )
        ranges = {
            "labels alone": (interval.low, interval.high),
            "worst group": error_rates(split, LEVEL).moved(interval.low, interval.high),
            "by age": error_rates(split, LEVEL, run.weights).moved(interval.low, interval.high),
        }
        for name, (low, high) in ranges.items():
            covered[name] += low <= run.truth <= high
            if name in width:
                width[name] += high - low
    return {name: count / runs for name, count in covered.items()} | {
        f"width, {name}": total / runs for name, total in width.items()
    }


def main() -> None:
    """Print the table."""
    runs = 300
    print("# Worst case over a certificate's errors\n")
    print(
        "How often each range covers the true model bias score in "
        f"{runs} runs of {PROMPTS} prompts with {IMAGES} images, at {LEVEL:.0%}. The certificate "
        f"rests on {LABELLED} photographs of "
        "each gender and age band. Written by `python tests/simulations/certificates.py`.\n"
    )
    names = ("labels alone", "worst group", "by age", "width, worst group", "width, by age")
    print(f"| world (errors, model) | {' | '.join(names)} |")
    print(f"|---|{'---|' * len(names)}")
    for seed, (name, world) in enumerate(WORLDS.items()):
        row = coverage(world, runs, seed)
        print(f"| {name} | {' | '.join(f'{row[key]:.3f}' for key in names)} |")


if __name__ == "__main__":
    main()
