"""Refusal gaps: how often intervals cover, and verdicts err, where few or many are refused.

python tests/simulations/refusals.py 2000 > tests/simulations/refusals.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from uncertainty import rate

from pytest_t2i.audits.engine.contrast import Units
from pytest_t2i.audits.engine.estimators import contrast_family
from pytest_t2i.audits.refusals import FEMININE, GAP, MASCULINE, NEUTRAL, TripletRefusals
from pytest_t2i.data import Outcome, Prompt, Triplet, Variant
from pytest_t2i.statistics.gaps import paired_gap_interval
from pytest_t2i.verdicts.judge import decide

LEVEL = 0.95
SIZES = ((10, 4), (10, 20), (50, 4))
"""Prompts, and pairs of images of each."""
Flags = tuple[np.ndarray, np.ndarray]
"""Whether images of feminine and of masculine prompts are refused, [prompts, pairs]."""


class World(NamedTuple):
    """Who is refused."""

    name: str
    gap: float
    draw: Callable[[int, int, np.random.Generator], Flags]
    """(prompts, pairs, generator) -> who was refused."""


def none(prompts: int, pairs: int, rng: np.random.Generator) -> Flags:
    """Nobody."""
    del rng
    return np.zeros((prompts, pairs), bool), np.zeros((prompts, pairs), bool)


def by_chance(feminine: float, masculine: float) -> Callable[..., Flags]:
    """Each image for itself, as a look at the picture does."""

    def draw(prompts: int, pairs: int, rng: np.random.Generator) -> Flags:
        size = (prompts, pairs)
        return rng.random(size) < feminine, rng.random(size) < masculine

    return draw


def all_of_a_word(prompts: int, pairs: int, rng: np.random.Generator) -> Flags:
    """Three words of ten in both variants, as a filter of texts does."""
    del rng
    refused = np.zeros((prompts, pairs), bool)
    refused[: prompts * 3 // 10] = True
    return refused, refused.copy()


def one_word_of_ten(prompts: int, pairs: int, rng: np.random.Generator) -> Flags:
    """Every image of the feminine variant of one word in ten."""
    refused, made = none(prompts, pairs, rng)
    refused[: prompts // 10] = True
    return refused, made


WORLDS = (
    World("none refused", 0.0, none),
    World("30 % of all images refused", 0.0, by_chance(0.3, 0.3)),
    World("3 words of 10 refused, both genders", 0.0, all_of_a_word),
    World("1 word of 10 refused, women alone", 0.1, one_word_of_ten),
    World("5 % of women refused, no man", 0.05, by_chance(0.05, 0.0)),
    World("35 % of women refused, 30 % of men", 0.05, by_chance(0.35, 0.3)),
)


def verdict(flags: Flags, bound: float) -> Outcome:
    """What the audit says of all prompts together."""
    members = [triplet(*pair) for pair in zip(*flags, strict=True)]
    evidence = Units(tuple(members), LEVEL).arms(GAP).evidence(bound, LEVEL)
    return decide(evidence, LEVEL)


def triplet(feminine: np.ndarray, masculine: np.ndarray) -> TripletRefusals:
    """One as the audit sees it."""
    prompts = (Prompt("", "axis", "word", variant) for variant in Variant)
    refused = {NEUTRAL: masculine, FEMININE: feminine, MASCULINE: masculine}
    words: dict[str, Counter[str]] = {variant: Counter() for variant in refused}
    return TripletRefusals(Triplet(*prompts), refused, LEVEL, words=words)


def covered(flags: Flags, gap: float) -> bool:
    """Whether the interval holds the true gap."""
    known = paired_gap_interval(*flags, level=LEVEL)
    return known.low - 1e-9 <= gap <= known.high + 1e-9


def many(world: World, size: tuple[int, int], runs: int, seed: int = 0) -> list[Flags]:
    """Runs of a world."""
    rng = np.random.default_rng(seed)
    return [world.draw(*size, rng) for _ in range(runs)]


def of_family(runs: int, seed: int, *, refused: float = 0.3, bound: float = 0.2) -> dict[str, list]:
    """Ten triplets of 20 pairs, one of which refuses women alone; the others anybody by chance."""
    rng = np.random.default_rng(seed)
    names = ("found", "share of wrong FAILs", "any FAIL if none differs")
    rows: dict[str, list] = {name: [] for name in names}
    for _ in range(runs):
        feminine, masculine = by_chance(refused, refused)(10, 20, rng)
        alike = _fails(feminine, masculine, bound)
        feminine[0], masculine[0] = True, False
        fails = _fails(feminine, masculine, bound)
        rows["found"].append(fails[0])
        rows["share of wrong FAILs"].append(sum(fails[1:]) / max(1, sum(fails)))
        rows["any FAIL if none differs"].append(any(alike))
    return rows


def _fails(feminine: np.ndarray, masculine: np.ndarray, bound: float) -> list[bool]:
    members = [triplet(*pair) for pair in zip(feminine, masculine, strict=True)]
    arms = [Units((member,), LEVEL).arms(GAP) for member in members]
    evidence = contrast_family(arms, LEVEL).evidence(bound, LEVEL)
    return [decide(one, LEVEL) is Outcome.FAIL for one in evidence]


def row(world: World, size: tuple[int, int], runs: int) -> str:
    """A row of the table."""
    drawn = many(world, size, runs, seed=size[0] * size[1] + size[0])
    cells = [rate([covered(flags, world.gap) for flags in drawn])]
    for bound in (0.05, 0.1):
        made = [verdict(flags, bound) for flags in drawn[: runs // 4]]
        shares = (made.count(kind) / len(made) for kind in (Outcome.FAIL, Outcome.PASS))
        cells.append(" / ".join(f"{share:.3f}" for share in shares))
    prompts, pairs = size
    name = f"{world.name} | {world.gap:g} | {prompts} x {pairs}"
    return f"| {name} | {' | '.join(cells)} |"


COLUMNS = (
    "world", "true gap", "prompts x pairs", "95 % interval covers", "FAIL / PASS at 0.05", "at 0.1",
)  # fmt: skip


def main() -> None:
    """Print the tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("# Refusal gaps\n")
    print(f"Made by `python tests/simulations/refusals.py {runs}`: {runs} runs a row, verdicts of")
    print(f"{runs // 4} of them. Rates with their 95 % intervals. A FAIL where the true gap is at")
    print("most the limit is an error, and so is a PASS where it is at least the limit.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for world in WORLDS:
        for size in SIZES:
            print(row(world, size, runs), flush=True)
    print("\n## Ten triplets that share one error level\n")
    print("20 pairs each, 30 % of all images refused, limit 0.2; of one triplet every woman and no")
    print("man.\n")
    for name, values in of_family(runs // 4, seed=1).items():
        print(f"- {name}: {np.mean(values):.3f} of {len(values)} runs")


if __name__ == "__main__":
    main()
