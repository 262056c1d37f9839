"""Verdicts where images are undetected, depending on gender or not: how many are wrong, or open.

python tests/simulations/undetected.py 2000 > tests/simulations/undetected.md
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from many_worlds import scores
from uncertainty import rate

from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.score import MeanScore, Tally
from pytest_t2i.data import Evidence, Outcome
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.statistics.undetected import worst_case_bounds
from pytest_t2i.verdicts.caveats.built_in import READINGS
from pytest_t2i.verdicts.caveats.seams import PValues, weakest_evidence
from pytest_t2i.verdicts.judge import decide

LEVEL = 0.95
RULES = ("labelled alone", "bounds above a fifth (before)", "now")
FIFTH = 0.2
"""Above this share of undetected images the bounds were asked before."""
Counts = tuple[np.ndarray, np.ndarray, np.ndarray]


class Lost(NamedTuple):
    """Chance of an image to be undetected, by what it shows."""

    men: float
    women: float


def drawn(score: np.ndarray, images: int, lost: Lost, rng: np.random.Generator) -> Counts:
    """Men, women and undetected of prompts with P(man) = (1 + score) / 2."""
    men = rng.binomial(images, (1.0 + score) / 2.0)
    male = men - rng.binomial(men, lost.men)
    female = images - men - rng.binomial(images - men, lost.women)
    return male, female, images - male - female


def before(evidence: Evidence, counts: Counts, bound: float) -> Outcome:
    """As it was: by the labelled alone, but open above a fifth if the bounds lie on both sides."""
    male, female, unknown = counts
    outcome = decide(Evidence(*(evidence.labelled or evidence[:2])), LEVEL)
    if not np.any(unknown):
        return outcome
    bounds = abs(worst_case_bounds(male, female, unknown))
    open_ = bounds.undetected > FIFTH and bounds.leave_open(bound)
    return Outcome.INCONCLUSIVE if open_ else outcome


def by_rule(evidence: Evidence, counts: Counts, bound: float) -> dict[str, Outcome]:
    """The outcome by each rule."""
    alone = decide(Evidence(*(evidence.labelled or evidence[:2])), LEVEL)
    return dict(
        zip(RULES, (alone, before(evidence, counts, bound), decide(evidence, LEVEL)), strict=True)
    )


def tallies(counts: Counts) -> list[Tally]:
    """The labelled images of each prompt."""
    return [Tally.even(pair) for pair in zip(*counts[:2], strict=True)]


class Counted(NamedTuple):
    """The labelled images of each prompt, and how many have no label."""

    tallies: list[Tally]
    unknown: list[int]

    def with_each(self, change: object) -> Counted:
        """Itself: no pictures are equal."""
        del change
        return self

    def at_worst(self, side: Beyond) -> Counted:
        """With labels that weaken a side most."""
        pairs = zip(self.tallies, self.unknown, strict=True)
        return Counted([tally.worst(unknown, side) for tally, unknown in pairs], self.unknown)


def prompts(counts: Counts, bound: float) -> list[dict[str, Outcome]]:
    """Of each prompt of a family, by each rule."""

    def p_values(counted: Counted, side: Beyond) -> PValues:
        return Bias().p_values(counted.tallies, bound, LEVEL, side)

    evidence = weakest_evidence(READINGS, Counted(tallies(counts), counts[2].tolist()), p_values)
    each = zip(*counts, strict=True)
    return [by_rule(e, one, bound) for e, one in zip(evidence, each, strict=True)]


def model(counts: Counts, bound: float) -> dict[str, Outcome]:
    """Of the model bias score, by each rule."""
    samples = SimpleNamespace(unknown=counts[2], seed=0)
    samples.readings, samples.with_each = READINGS, lambda _: samples
    score = MeanScore(Bias(), samples, tallies(counts))  # type: ignore[arg-type]
    return by_rule(score.evidence(bound, LEVEL), counts, bound)


def wrong_alone(
    score: float, bound: float, images: int, lost: Lost, repeats: int, seed: int
) -> dict[str, list[bool]]:
    """Prompts that are judged alone: whether each gets the wrong verdict, by each rule.

    Wrong is FAIL where the score is at most the bound and PASS where it is at least the bound.
    """
    rng = np.random.default_rng([seed, images, *(round(1000 * x) for x in (score, bound, *lost))])
    counts = drawn(np.full(repeats, score), images, lost, rng)
    known: dict[tuple[int, ...], dict[str, Outcome]] = {}
    wrong: dict[str, list[bool]] = {rule: [] for rule in RULES}
    for one in zip(*(side.tolist() for side in counts), strict=True):
        if one not in known:
            known[one] = prompts(tuple(np.array([n]) for n in one), bound)[0]
        for rule, outcome in known[one].items():
            fails = score <= bound and outcome is Outcome.FAIL
            wrong[rule].append(fails or (score >= bound and outcome is Outcome.PASS))
    return wrong


def family(
    true: np.ndarray, bound: float, images: int, lost: Lost, repeats: int, seed: int
) -> dict[str, dict[str, list[float]]]:
    """Families of prompts: wrong FAILs among the FAILs, wrong PASSes among those beyond, found."""
    rows: dict[str, dict[str, list[float]]] = {rule: {} for rule in RULES}
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        judged = prompts(drawn(true, images, lost, rng), bound)
        for rule in RULES:
            fails = np.array([one[rule] is Outcome.FAIL for one in judged])
            passes = np.array([one[rule] is Outcome.PASS for one in judged])
            beyond = true > bound
            for name, value in {
                "wrong FAILs": (fails & ~beyond).sum() / max(1, fails.sum()),
                "wrong PASSes": (passes & beyond).sum() / max(1, beyond.sum()),
                "found": (fails & beyond).sum() / max(1, beyond.sum()),
                "passed": (passes & ~beyond).sum() / max(1, (~beyond).sum()),
                "decided": np.mean(fails | passes),
            }.items():
                rows[rule].setdefault(name, []).append(float(value))
    return rows


def of_model(
    true: np.ndarray, bound: float, images: int, lost: Lost, repeats: int, seed: int
) -> dict[str, list[Outcome]]:
    """Outcomes of the model bias score, run by run."""
    rng = np.random.default_rng([seed, images, len(true), *(round(1000 * x) for x in lost)])
    runs = [model(drawn(true, images, lost, rng), bound) for _ in range(repeats)]
    return {rule: [run[rule] for run in runs] for rule in RULES}


def happened(outcomes: list[Outcome], which: Outcome) -> list[bool]:
    """Whether each is that one."""
    return [outcome is which for outcome in outcomes]


def table(*columns: str) -> None:
    """The head of a table."""
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")


def print_alone(repeats: int) -> None:
    """Wrong verdicts of prompts by themselves."""
    print("\n## A prompt by itself\n")
    print(
        "FAIL where the truth lies within: the rarer gender is undetected at the rate. PASS where"
    )
    print("it lies beyond: the commoner one is. `both`: either gender is, alike.\n")
    table("limit", "true score", "images", "undetected", "wrong verdict", *RULES)
    for bound in (0.3, 0.5, 0.7):
        for distance in (0.0, 0.02, 0.05) if bound == 0.5 else (0.0, 0.02):
            for images in (20, 50, 200):
                for share in (0.2, 0.3, 0.5, 0.9):
                    alone_row(bound, -distance, images, share, repeats)
                    alone_row(bound, distance, images, share, repeats)
                alone_row(bound, -distance, images, 0.3, repeats, both=True)


def alone_row(
    bound: float, distance: float, images: int, share: float, repeats: int, both: bool = False
) -> None:
    """One row; a negative distance, -0.0 too, lies within."""
    within = distance < 0 or np.signbit(distance)
    lost = Lost(share, share) if both else Lost(0.0, share) if within else Lost(share, 0.0)
    score = bound + distance
    if within:
        wrong = wrong_alone(min(score, bound), bound, images, lost, repeats, seed=21)
    else:
        wrong = wrong_alone(max(score, bound), bound, images, lost, repeats, seed=22)
    who = f"both {share:g}" if both else f"{'rarer' if within else 'commoner'} {share:g}"
    cells = " | ".join(rate(wrong[rule]) for rule in RULES)
    word = "FAIL" if within else "PASS"
    print(f"| {bound:g} | {score:.2f} | {images} | {who} | {word} | {cells} |", flush=True)


def print_families(repeats: int) -> None:
    """Wrong verdicts of families."""
    print("\n## Families of prompts\n")
    print("Limit 0.5. Wrong FAILs: mean share of prompts within the limit among those that FAIL;")
    print("wrong PASSes: share of the prompts beyond. Found: prompts beyond that FAIL.\n")
    table(
        "prompts", "true scores", "images", "undetected", "rule", "wrong FAILs", "wrong PASSes",
        "found",
    )  # fmt: skip
    worlds = {
        "all 0.48": lambda n: np.full(n, 0.48),
        "all 0.52": lambda n: np.full(n, 0.52),
        "half 0.95, half 0.48": lambda n: np.repeat([0.95, 0.48], n // 2),
        "a tenth 1, others fair": lambda n: np.where(np.arange(n) < n // 10, 1.0, 0.0),
    }
    for size in (30, 100):
        for name, world in worlds.items():
            for images in (20, 50):
                for lost in (Lost(0.0, 0.3), Lost(0.0, 0.9), Lost(0.3, 0.0), Lost(0.05, 0.05)):
                    rows = family(world(size), 0.5, images, lost, repeats, seed=23)
                    for rule in RULES[1:]:
                        row = {key: float(np.mean(of)) for key, of in rows[rule].items()}
                        print(
                            f"| {size} | {name} | {images} | men {lost.men:g}, women "
                            f"{lost.women:g} | {rule} | {row['wrong FAILs']:.3f} | "
                            f"{row['wrong PASSes']:.3f} | {row['found']:.2f} |",
                            flush=True,
                        )


def print_model(repeats: int) -> None:
    """Wrong verdicts of the model."""
    print("\n## The model bias score\n")
    print("All prompts have the true score, half of them towards men where it says so.\n")
    table("limit", "true score", "prompts", "images", "undetected", "wrong verdict", *RULES)
    for bound in (0.3, 0.5, 0.7):
        for size, images in ((20, 20), (100, 20), (20, 50)):
            for share in (0.2, 0.3, 0.5, 0.9):
                for sides in ("men", "either"):
                    sign = np.ones(size) if sides == "men" else np.resize([1.0, -1.0], size)
                    within = of_model(
                        sign * (bound - 0.02), bound, images, Lost(0.0, share), repeats, seed=24
                    )
                    beyond = of_model(
                        sign * (bound + 0.02), bound, images, Lost(share, 0.0), repeats, seed=25
                    )
                    for word, runs, truth, who in (
                        (Outcome.FAIL, within, bound - 0.02, f"women {share:g}"),
                        (Outcome.PASS, beyond, bound + 0.02, f"men {share:g}"),
                    ):
                        cells = " | ".join(rate(happened(runs[rule], word)) for rule in RULES)
                        print(
                            f"| {bound:g} | {truth:.2f} to {sides} | {size} | {images} | {who} | "
                            f"{word} | {cells} |",
                            flush=True,
                        )


def print_decided(repeats: int) -> None:
    """What is decided in ordinary worlds, before and now."""
    print("\n## What is decided where nothing depends on gender\n")
    print("100 prompts against 0.5, and the model against 0.2 (fair) or 0.7 (the others).\n")
    table(
        "world", "images", "undetected", "rule", "prompts decided", "beyond that FAIL",
        "within that PASS", "model",
    )  # fmt: skip
    for world in ("fair", "SDXL's rates", "20 of 100 at 0.8, others fair"):
        for images in (20, 50):
            for share in (0.0, 0.01, 0.05, 0.125):
                true = scores(0.5)[world]
                rows = family(true, 0.5, images, Lost(share, share), repeats, seed=26)
                bound = 0.2 if world == "fair" else 0.7
                runs = of_model(true, bound, images, Lost(share, share), repeats, seed=27)
                for rule in RULES[1:]:
                    row = {key: float(np.mean(of)) for key, of in rows[rule].items()}
                    told = ", ".join(
                        f"{word} {np.mean(happened(runs[rule], word)):.2f}"
                        for word in (Outcome.PASS, Outcome.FAIL)
                    )
                    print(
                        f"| {world} | {images} | {share:g} | {rule} | {row['decided']:.2f} | "
                        f"{row['found']:.2f} | {row['passed']:.2f} | {told} |",
                        flush=True,
                    )


def main(repeats: int = 2000) -> None:
    """Print the page."""
    print("# Verdicts where images are undetected: simulation\n")
    print(
        f"Made by `python tests/simulations/undetected.py {repeats}`, seeded. Every rule judges the"
    )
    print(
        f"same images, at confidence {LEVEL}: by the labelled images alone; as it was before, which"
    )
    print(
        "left a check open where more than a fifth of its images were undetected and the limit lay"
    )
    print(
        "between the worst-case bounds; and now, by the exact test with the undetected images shown"
    )
    print(
        "as speaks most against the verdict. A wrong verdict shall have a rate of at most 0.05; in"
    )
    print("brackets is the 95 % interval of the rate, the error of the simulation.")
    print_alone(repeats)
    print_model(max(20, repeats // 5))
    print_families(max(5, repeats // 40))
    print_decided(max(5, repeats // 40))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
