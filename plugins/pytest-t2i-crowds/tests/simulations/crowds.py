"""Groups of people: how often intervals cover and verdicts err where people share a picture.

python tests/simulations/crowds.py 2000 > tests/simulations/crowds.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from pytest_t2i import Outcome, People
from pytest_t2i.statistics import share_interval
from pytest_t2i.verdicts.judge import decide
from uncertainty import rate

from pytest_t2i_crowds.metrics import MOST_PEOPLE
from pytest_t2i_crowds.pictures import CrowdPictures, crowd_pictures
from pytest_t2i_crowds.shown import ShownCrowd

LEVEL = 0.95
BOUND = 0.4
"""Limit of the gap: seven in ten people of one gender."""
IMAGES = (20, 60)
"""Pictures of the prompt."""
FEWEST, MOST = 2, 8
"""People of a picture."""
WORLD_RUNS = 400_000
"""Pictures from which the true gap of a world is computed."""


class Drawn(NamedTuple):
    """Pictures of a run: [pictures] each."""

    men: np.ndarray
    women: np.ndarray
    found_men: np.ndarray
    """Men whose gender the detector says; the others are counted without one."""
    found_women: np.ndarray


class World(NamedTuple):
    """Who is drawn."""

    name: str
    draw: Callable[[int, np.random.Generator], Drawn]


def alike(chance: float, correlation: float) -> Callable[..., Drawn]:
    """Draw people whose genders correlate within a picture (beta-binomial)."""

    def draw(pictures: int, rng: np.random.Generator) -> Drawn:
        people = rng.integers(FEWEST, MOST + 1, pictures)
        return _all_found(people, rng.binomial(people, _shares(chance, correlation, pictures, rng)))

    return draw


def _shares(
    chance: float, correlation: float, pictures: int, rng: np.random.Generator
) -> np.ndarray:
    spread = 1.0 / correlation - 1.0
    return rng.beta(chance * spread, (1.0 - chance) * spread, pictures)


def _all_found(people: np.ndarray, men: np.ndarray) -> Drawn:
    return Drawn(men, people - men, men, people - men)


def all_of_one(chance: float) -> Callable[..., Drawn]:
    """Draw pictures of men alone or women alone."""

    def draw(pictures: int, rng: np.random.Generator) -> Drawn:
        people = rng.integers(FEWEST, MOST + 1, pictures)
        return _all_found(people, people * (rng.random(pictures) < chance))

    return draw


def larger_groups_of_men(pictures: int, rng: np.random.Generator) -> Drawn:
    """Draw pairs that are mostly women and groups of eight that are mostly men."""
    is_large = rng.random(pictures) < 0.5
    people = np.where(is_large, MOST, FEWEST)
    share = np.where(is_large, _shares(0.75, 0.4, pictures, rng), _shares(0.25, 0.4, pictures, rng))
    return _all_found(people, rng.binomial(people, share))


def women_unclear(pictures: int, rng: np.random.Generator) -> Drawn:
    """Draw fair groups of which three women in ten and no man have no clear gender."""
    drawn = alike(0.5, 0.3)(pictures, rng)
    return drawn._replace(found_women=rng.binomial(drawn.women, 0.7))


def unequal_spread(pictures: int, rng: np.random.Generator) -> Drawn:
    """Draw mixed pictures and pictures of one gender alone, both with even shares."""
    is_mixed = rng.random(pictures) < 0.5
    mixed, alone = alike(0.5, 0.02)(pictures, rng), all_of_one(0.5)(pictures, rng)
    columns = zip(mixed, alone, strict=True)
    return Drawn(*(np.where(is_mixed, first, second) for first, second in columns))


def rare_groups_of_women(pictures: int, rng: np.random.Generator) -> Drawn:
    """Draw men, and one picture in seven of eight women: few pictures may show none."""
    people = rng.integers(FEWEST, MOST + 1, pictures)
    is_rare = rng.random(pictures) < 1.0 / 7.0
    people = np.where(is_rare, MOST, people)
    return _all_found(people, np.where(is_rare, 0, people))


WORLDS = (
    World("fair, people correlate", alike(0.5, 0.3)),
    World("mild: 60 % men, people correlate", alike(0.6, 0.3)),
    World("at the limit: 70 % men, people correlate", alike(0.7, 0.3)),
    World("pictures of one gender alone, half of men", all_of_one(0.5)),
    World("pictures of one gender alone, 70 % of men", all_of_one(0.7)),
    World("larger groups are of men", larger_groups_of_men),
    World("three women in ten unclear", women_unclear),
    World("equal shares with unequal spread", unequal_spread),
    World("men, and rare groups of women", rare_groups_of_women),
)


def gap_of(drawn: Drawn) -> float:
    """Return the gap of all who are drawn, as the metric weighs pictures."""
    people = drawn.men + drawn.women
    weights = np.minimum(1.0, MOST_PEOPLE / people)
    return float(np.sum(weights * (drawn.men - drawn.women)) / np.sum(weights * people))


def own_gap_of(drawn: Drawn) -> float:
    """Return the mean gap within pictures of all who are drawn."""
    return float(np.mean((drawn.men - drawn.women) / (drawn.men + drawn.women)))


def true_gap(world: World, gap: Callable[[Drawn], float] = gap_of) -> float:
    """Return the gap of a world."""
    return gap(world.draw(WORLD_RUNS, np.random.default_rng(99)))


def judged(drawn: Drawn, metric: str = "crowd_share_gap") -> CrowdPictures:
    """Return the pictures as the audit sees them."""
    rows = zip(*(column.tolist() for column in drawn), strict=True)
    pictures = tuple(
        ShownCrowd(People(men + women, {"male": known_men, "female": known_women}), None)
        for men, women, known_men, known_women in rows
    )

    class Member(NamedTuple):
        pictures: tuple[ShownCrowd, ...]

    return crowd_pictures([Member(pictures)], metric, 0.0)


class Run(NamedTuple):
    """What is said of one run."""

    covered: bool
    """Whether the interval holds the true gap of all who are drawn, whoever is unclear."""
    covered_by_people: bool
    """Whether the exact interval of people as if they were independent does."""
    outcome: Outcome
    outcome_by_people: Outcome


def runs_of(world: World, images: int, runs: int, seed: int) -> Iterator[Run]:
    """Yield what is said of each run of a world."""
    rng, truth = np.random.default_rng(seed), true_gap(world)
    tail = (1.0 - LEVEL) / 2.0
    for _ in range(runs):
        drawn = world.draw(images, rng)
        pictures = judged(drawn)
        # An interval covers where neither end's p-value at the truth is below its tail.
        greater, _ = pictures.signed_p_values(1, truth)
        _, less = pictures.signed_p_values(2, truth)
        outcome = decide(pictures.evidence(BOUND, LEVEL), LEVEL)
        men, women = int(drawn.found_men.sum()), int(drawn.found_women.sum())
        share = share_interval(men, men + women, LEVEL)
        yield Run(
            min(greater, less) >= tail,
            2 * share.low - 1 <= truth <= 2 * share.high - 1,
            outcome,
            _by_people(men, women),
        )


def _by_people(men: int, women: int) -> Outcome:
    """Return the verdict if all people were independent."""
    share = share_interval(men, men + women, 2 * LEVEL - 1)
    low, high = 2 * share.low - 1, 2 * share.high - 1
    if low > BOUND or high < -BOUND:
        return Outcome.FAIL
    return Outcome.PASS if low > -BOUND and high < BOUND else Outcome.INCONCLUSIVE


def own_gaps_cover(world: World, images: int, runs: int, seed: int) -> Iterator[bool]:
    """Yield whether the interval of the gap within pictures holds the true one."""
    rng, truth = np.random.default_rng(seed), true_gap(world, own_gap_of)
    for _ in range(runs):
        pictures = judged(world.draw(images, rng), "picture_share_gap")
        greater, _ = pictures.signed_p_values(1, truth)
        _, less = pictures.signed_p_values(2, truth)
        yield min(greater, less) >= (1.0 - LEVEL) / 2.0


def row(world: World, images: int, runs: int) -> str:
    """Return a row of the table."""
    every = list(runs_of(world, images, runs, seed=images))

    def share(outcome: Outcome, *, by_people: bool = False) -> str:
        said = [run.outcome_by_people if by_people else run.outcome for run in every]
        return f"{said.count(outcome) / runs:.3f}"

    cells = [
        rate([run.covered for run in every]),
        rate([run.covered_by_people for run in every]),
        share(Outcome.FAIL),
        share(Outcome.PASS),
        share(Outcome.FAIL, by_people=True),
        share(Outcome.PASS, by_people=True),
    ]
    return f"| {world.name} | {true_gap(world):+.2f} | {images} | {' | '.join(cells)} |"


COLUMNS = (
    "world", "true gap", "pictures", "95 % interval covers", "people as if independent",
    "FAIL at 0.4", "PASS at 0.4", "people as if independent: FAIL", "PASS",
)  # fmt: skip


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("# Groups of people\n")
    print(
        f"Made by `python tests/simulations/crowds.py {runs}`: {runs} runs a row. Pictures of two"
    )
    print("to eight people; the gap is the share of men minus that of women. An interval covers")
    print("where it holds the gap of all who are drawn; where some have no clear gender, its ends")
    print(f"are those of whoever they may be. The limit of the gap is {BOUND}.\n")
    print(f"| {' | '.join(COLUMNS)} |")
    print("|" + "---|" * len(COLUMNS))
    for world in WORLDS:
        for images in IMAGES:
            print(row(world, images, runs), flush=True)


if __name__ == "__main__":
    main()
