"""The hunt on worlds whose shares are known: what it finds, with how many images, and how often
it is wrong.

Writes the tables that docs/tutorials/hunt.md rests on:

    python tests/simulations/hunt.py > tests/simulations/hunt.md
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from pytest_t2i import axes
from pytest_t2i.prompts import Axis

from pytest_t2i_hunt.search import Confirmed, Counts, HuntResult, Parts, Plan, hunt, names

# Lyu Table 7, column SDXL; nationalities from OASIS Table 1, SDv2.
SDXL = {
    "cigar": 1.0, "suit": 1.0, "tie": 1.0, "pen": 0.6, "desktop": 0.78, "earphone": 0.1,
    "cleaner": 1.0, "eye glasses": 0.05, "book": 0.11, "cup": 0.08,
    "bus station": 1.0, "gym": 0.89, "office": 0.75, "beach": 0.11, "park": 0.43,
    "school campus": 0.8, "library": 1.0, "hospital": 0.14, "museum": -0.2, "mall": 0.43,
    "Iranian": 0.96, "Indian": 0.57, "Mexican": 0.902,
}  # fmt: skip
SURE = 4.6
"""Largest log-odds of a single word: a share of 0.99."""


@dataclass(frozen=True)
class World:
    """P(male | words): log-odds of the words add up; planted words have a share of their own."""

    axes: tuple[Axis, ...]
    single: Mapping[str, float] = field(default_factory=dict)
    """Prompt bias score of a word alone; 0 for words that do not stand here."""
    planted: Mapping[frozenset[str], float] = field(default_factory=dict)
    """Score of a combination; further words shift it as they shift anything."""
    undetected: float = 0.0
    """Share of images without a label."""

    def share(self, parts: Parts) -> float:
        """P(male) of a combination."""
        words = frozenset(part.concept for part in parts)
        total = 0.0
        for combination, score in self.planted.items():
            if combination <= words:
                total += log_odds(score)
                words -= combination
        total += sum(log_odds(self.single.get(word, 0.0)) for word in words)
        return 1.0 / (1.0 + math.exp(-total))

    def bias(self, parts: Parts) -> float:
        """The true prompt bias score."""
        return 2.0 * self.share(parts) - 1.0


def log_odds(score: float) -> float:
    """Of the share that gives a prompt bias score."""
    share = (1.0 + score) / 2.0
    odds = math.log(share / (1.0 - share)) if 0.0 < share < 1.0 else math.copysign(SURE, score)
    return max(-SURE, min(SURE, odds))


@dataclass
class Maker:
    """Images of a world: image k of a combination shows the same in every call of one run."""

    world: World
    run: int
    made: int = 0

    def __call__(self, wanted: Mapping[Parts, range]) -> dict[Parts, Counts]:
        self.made += sum(map(len, wanted.values()))
        return {parts: self._counts(parts, numbers) for parts, numbers in wanted.items()}

    def _counts(self, parts: Parts, numbers: range) -> Counts:
        male = female = 0
        share = self.world.share(parts)
        for number in numbers:
            seen, gender = uniform(f"{self.run}|{names(parts)}|{number}")
            if seen >= self.world.undetected:
                male, female = (male + 1, female) if gender < share else (male, female + 1)
        return Counts(male, female, len(numbers))


def uniform(text: str) -> tuple[float, float]:
    """Two numbers in [0, 1) that depend on the text alone."""
    raw = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(raw[:6], "big") / 2**48, int.from_bytes(raw[6:12], "big") / 2**48


def pair(first: str, second: str) -> frozenset[str]:
    """Words of a planted combination."""
    return frozenset({first, second})


def mild(some: tuple[Axis, ...]) -> dict[str, float]:
    """Scores of -0.3 to 0.3 for the words of these axes: none is beyond 0.5, some pairs are."""
    words = [word for axis in some for word in axis.concepts]
    return {word: 0.6 * uniform(word)[0] - 0.3 for word in words}


@cache
def worlds() -> dict[str, World]:
    """All worlds of the simulation."""
    small = (axes.object, axes.place, axes.nationality)
    large = (axes.profession, axes.activity, axes.object, axes.place)
    cup, indian = pair("cup", "hospital"), pair("Indian", "museum")
    fair = {cup: 0.9}
    return {
        "fair": World(small),
        "fair, cup + hospital": World(small, {}, fair),
        "fair, three words": World(small, {}, {frozenset({"cup", "park", "Indian"}): 0.9}),
        "SDXL": World(small, SDXL),
        "SDXL, both pairs": World(small, SDXL, {cup: 0.9, indian: -0.9}),
        "mild words that add up": World(large, mild(large)),
        "at the bound": World(small, {word: 0.5 for axis in small for word in axis.concepts}),
        "fair, 70 words, chef + cup": World(large, {}, {pair("chef", "cup"): 0.9}),
        "fair, cup + hospital, a fifth undetected": World(small, {}, fair, 0.2),
    }  # fmt: skip


@dataclass
class Run:
    """One hunt and what was true."""

    world: World
    result: HuntResult
    made: int

    @property
    def confirmed(self) -> list[Confirmed]:
        return [finding for finding in self.result.findings if finding.confirmed]

    def found(self, words: frozenset[str]) -> bool:
        """Whether the planted words were confirmed, exactly these and in their direction."""
        sign = math.copysign(1, self.world.planted[words])
        return any({p.concept for p in entry.parts} == words and entry.sign == sign
                   for entry in self.confirmed)  # fmt: skip

    @property
    def false(self) -> int:
        """Confirmed findings that lie within the bound."""
        beyond = self.result.plan.beyond
        return sum(
            self.world.bias(entry.parts) * entry.sign <= beyond + 1e-9 for entry in self.confirmed
        )


def go(world: World, run: int, budget: int = 2000, **options: object) -> Run:
    """One hunt."""
    maker = Maker(world, run)
    plan = Plan(world.axes, budget, seed=run)
    return Run(world, hunt(maker, replace(plan, **options)), maker.made)


def curse(runs: list[Run]) -> tuple[float, float, float] | None:
    """Mean of |score| over all findings: in the search, held out, in truth."""
    rows = [
        (finding.sign * (finding.search.score or 0), finding.sign * (finding.held_out.score or 0),
         finding.sign * run.world.bias(finding.parts))
        for run in runs for finding in run.result.findings
    ]  # fmt: skip
    return tuple(np.mean(rows, axis=0)) if rows else None


def row(name: str, runs: list[Run]) -> str:
    """A line of the table."""
    world = runs[0].world
    result = [np.mean([run.found(words) for run in runs]) for words in world.planted]
    grid = runs[0].result.plan.full_grid
    used = np.mean([run.made for run in runs]) / grid
    most = max(run.made for run in runs) / grid
    fdr = np.mean([run.false / max(1, len(run.confirmed)) for run in runs])
    scores = curse(runs)
    told = " | ".join(f"{score:.3f}" for score in scores) if scores else "- | - | -"
    planted = ", ".join(f"{entry:.0%}" for entry in result) or "-"
    findings = np.mean([len(run.result.findings) for run in runs])
    confirmed = np.mean([len(run.confirmed) for run in runs])
    return (
        f"| {name} | {runs[0].result.plan.budget:,} | {used:.1%} | {most:.1%} | {planted} "
        f"| {findings:.1f} | {confirmed:.1f} | {fdr:.3f} | {told} |"
    )


ABOUT = """# The hunt: simulation

Made by `python tests/simulations/hunt.py`, seeded, {repeats} hunts a world. Log-odds of words add
up; planted combinations have a score of 0.9 or -0.9. Images are a share of the full grid, all
combinations of up to three words at 20 images each. Planted: share of hunts that confirm it, with
these words and no other. FDR: mean share of confirmed findings that truly lie within the bound of
0.5. The last columns are means over all findings of the score in the finding's direction: where it
was found, on held-out images, in truth.
"""
SMALL_BUDGET = ("fair, cup + hospital", "SDXL, both pairs")
"""Worlds that are hunted with a tenth of the full grid, too."""
HEAD = (
    "world", "budget", "images, mean", "at most", "planted, found", "findings", "confirmed", "FDR",
    "search", "held out", "truth",
)  # fmt: skip


def main(repeats: int = 20) -> None:
    """Print the table."""
    print(ABOUT.format(repeats=repeats))
    print("|", " | ".join(HEAD), "|")
    print("|---" * len(HEAD) + "|")
    for name, world in worlds().items():
        budgets = (1000, 2400) if name in SMALL_BUDGET else (2400,)
        for budget in budgets:
            runs = [go(world, run, budget) for run in range(repeats)]
            print(row(name, runs), flush=True)
        if world.undetected:
            alike = [go(world, run, 2400, alike=0.5) for run in range(repeats)]
            print(row(f"{name}, taken to be like the others", alike), flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
