"""Wrong verdicts where prompts, or images of prompts, are few: limits and margins at the truth.

    python tests/simulations/few_prompts.py > tests/simulations/few_prompts.md

Every world is judged at a bound equal to its truth, 5 % a side. The seeds are used here alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from uncertainty import rate

from pytest_t2i.audits.engine.evidence import ALTERNATIVES
from pytest_t2i.data import Evidence
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics import (
    model_bias_p_value,
    paired_model_bias_change,
    prompt_bias_p_values,
    ranking,
)
from pytest_t2i.verdicts.caveats.built_in import READINGS
from pytest_t2i.verdicts.caveats.equal_pictures import MOST_REPEATED, whatever_some_show
from pytest_t2i.verdicts.caveats.seams import SIDES, weakest_evidence

ALPHA, LEVEL = 0.05, 0.9
Floats = np.ndarray


class Wrong(NamedTuple):
    """Whether each run gives a wrong verdict on either side."""

    fail: list[bool]
    passed: list[bool]


# Model bias scores where prompts have unequal numbers of images


class Unequal(NamedTuple):
    """|2p - 1| and the images of each prompt."""

    bias: Floats
    images: Floats


FEW = np.r_[2, 2, 2, np.full(27, 80)]
UNEQUAL = {
    "30 prompts alike at .5": Unequal(np.full(30, 0.5), FEW),
    "29 at .9 and a fair one": Unequal(np.r_[np.full(29, 0.9), 0.0], FEW),
    "long tail, few images where it is fair": Unequal((np.arange(30) / 30) ** 6, FEW),
    "half have 3 images, the others 60; alike at .4": Unequal(
        np.full(20, 0.4), np.repeat([3, 60], 10)
    ),
    "one-sided where images are few": Unequal(np.r_[np.ones(4), np.full(16, 0.2)], np.r_[
        np.full(4, 2), np.full(16, 50)]),
    "images from 2 to 100, bias falls with them": Unequal(
        np.linspace(0.8, 0.1, 25), np.geomspace(2, 100, 25).astype(int)
    ),
    "five at .9 with 4 images, 45 one-sided with 40": Unequal(
        np.r_[np.full(5, 0.9), np.ones(45)], np.repeat([4, 40], [5, 45])
    ),
    "one at .7 with 4, 19 one-sided with 40": Unequal(
        np.r_[0.7, np.ones(19)], np.repeat([4, 40], [1, 19])
    ),
    "two at .95 with 10, 14 one-sided with 60": Unequal(
        np.r_[np.full(2, 0.95), np.ones(14)], np.repeat([10, 60], [2, 14])
    ),
    "four at .9 with 15, four one-sided with 28": Unequal(
        np.repeat([0.9, 1.0], 4), np.repeat([15, 28], 4)
    ),
}  # fmt: skip


def unequal(world: str, repeats: int) -> Wrong:
    """A model bias score against a limit at the truth."""
    bias, images = UNEQUAL[world]
    rng = np.random.default_rng([2027, 1, list(UNEQUAL).index(world)])
    wrong = Wrong([], [])
    for _ in range(repeats):
        men = rng.binomial(images, (1.0 + bias) / 2.0)
        counts = (men, images - men, float(bias.mean()))
        wrong.fail.append(model_bias_p_value(*counts) <= ALPHA)
        wrong.passed.append(model_bias_p_value(*counts, alternative="less") <= ALPHA)
    return wrong


# Changes against a baseline, with fewer than ten prompts


def some(count: int, of: int) -> Floats:
    """So many prompts one-sided, the others fair."""
    return (np.arange(of) < count).astype(float)


CHANGES = {
    "nine alike at 1/9, one of nine one-sided": (np.full(9, 1 / 9), some(1, 9)),
    "eight alike at 1/8, one of eight one-sided": (np.full(8, 1 / 8), some(1, 8)),
    "five alike at .4, two of five one-sided": (np.full(5, 0.4), some(2, 5)),
    "five even, all at .2": (np.zeros(5), np.full(5, 0.2)),
    "one even prompt, at .3": (np.zeros(1), np.full(1, 0.3)),
    "three one-sided of six, six alike at .5": (some(3, 6), np.full(6, 0.5)),
    "two at .9 and .1, both at .5": (np.array([0.9, 0.1]), np.full(2, 0.5)),
    "seven at 0 to .6, turned round": (np.linspace(0, 0.6, 7), np.linspace(0.6, 0, 7)),
    "one at .2, at .4": (np.full(1, 0.2), np.full(1, 0.4)),
    "two even, both at .6": (np.zeros(2), np.full(2, 0.6)),
    "twenty even, all at .3": (np.zeros(20), np.full(20, 0.3)),
    "twelve even, all at .2": (np.zeros(12), np.full(12, 0.2)),
}
"""|2p - 1| of each prompt before and now."""


def changed(world: str, images: int, repeats: int) -> Wrong:
    """A change against a margin at the true change."""
    before, now = CHANGES[world]
    truth = float(now.mean() - before.mean())
    rng = np.random.default_rng([2027, 2, list(CHANGES).index(world), images])
    wrong = Wrong([], [])
    for run in range(repeats):
        x, y = (rng.binomial(images, (1.0 + bias) / 2.0) for bias in (before, now))
        found = paired_model_bias_change(x, images - x, y, images - y, level=LEVEL, seed=run)
        wrong.fail.append(found.low > truth)
        wrong.passed.append(found.high <= truth)
    return wrong


# Places of several models


class Close(NamedTuple):
    """Models whose scores differ by little."""

    score: float
    step: float
    models: int
    images: int


PLACES = {
    "2 at .9, 40 images": Close(0.9, 0.0, 2, 40),
    "5 from .9 on, 40 images": Close(0.9, 1e-4, 5, 40),
    "10 from .6 on, 100 images": Close(0.6, 1e-4, 10, 100),
    "20 from .9 on, 20 images": Close(0.9, 1e-4, 20, 20),
    "4 fair, 30 images": Close(0.0, 1e-4, 4, 30),
    "6 from .3 on, 10 images": Close(0.3, 1e-3, 6, 10),
    "3 from .97 on, 60 images": Close(0.97, 1e-3, 3, 60),
}


def misplaced(world: str, repeats: int) -> list[bool]:
    """Whether any model's true place is missed (5 % stated for all places together)."""
    close = PLACES[world]
    rng = np.random.default_rng([2027, 3, list(PLACES).index(world)])
    missed = []
    for run in range(repeats):
        men = np.array([
            rng.binomial(close.images, (1.0 + close.score + close.step * k) / 2.0, 100)
            for k in range(close.models)
        ])  # fmt: skip
        places = ranking(men, close.images - men, level=0.95, seed=run)
        missed.append(
            any(not p.low <= k + 1 <= p.high for k, p in enumerate(places))
            if close.step
            else any(p.low == p.high for p in places)
        )
    return missed


# Pictures of which some repeat

COPIES, POOLS = ("any", "late", "first"), ("men", "women")
KINDS = COPIES + POOLS
"""``any``: a cache repeats a twentieth; ``late``: the last tenth copies the first pictures;
``first``: a tenth is the first picture; ``men`` (``women``): men (women) come from a pool of 50
pictures for 20 images, so that equal ones are of one gender."""


class Pictures(NamedTuple):
    """Men and pictures of a prompt, with equal ones counted once and counted each."""

    distinct_men: int
    distinct: int
    men: int
    pictures: int

    @property
    def are_judged(self) -> bool:
        """Whether at most a tenth repeats."""
        return self.pictures - self.distinct <= MOST_REPEATED * self.pictures


def pictures(rng: np.random.Generator, kind: str, share: float, images: int) -> Pictures:
    """The pictures of a prompt, of which some repeat."""
    men, repeat = rng.random(images) < share, np.zeros(images, dtype=bool)
    most = int(MOST_REPEATED * images)
    if kind in POOLS:
        own = np.flatnonzero(men == (kind == "men"))
        pool = rng.integers(0, 50 * images // 20, len(own))
        repeat[own] = True
        repeat[own[np.unique(pool, return_index=True)[1]]] = False
    elif kind == "any":
        repeat = rng.random(images) < MOST_REPEATED / 2
        repeat[0] = False
        men[repeat] = rng.choice(men[~repeat], int(repeat.sum()))
    else:
        repeat[images - most :] = True
        men[repeat] = men[:most] if kind == "late" else men[0]
    return Pictures(int(men[~repeat].sum()), int((~repeat).sum()), int(men.sum()), images)


@dataclass
class Counted:
    """The judged prompts, with equal pictures counted once or each."""

    prompts: list[Pictures]
    each: bool = False

    def with_each(self, change: object) -> Counted:
        """With equal pictures counted each, which is the only change."""
        del change
        return Counted(self.prompts, each=True)

    def at_worst(self, side: object) -> Counted:
        """Itself: every picture is labelled."""
        del side
        return self

    @property
    def male(self) -> np.ndarray:
        """Men of each prompt."""
        return np.array([p.men if self.each else p.distinct_men for p in self.prompts])

    @property
    def female(self) -> np.ndarray:
        """Women of each prompt."""
        counts = [p.pictures if self.each else p.distinct for p in self.prompts]
        return np.array(counts) - self.male


def p_value(prompts: list[Pictures], limit: float, side: Literal["beyond", "within"]) -> float:
    """The p-value of a model's limit by the code that judges, for either way to count."""
    judged = [prompt for prompt in prompts if prompt.are_judged]

    def evidence(bound: float, _: float) -> Evidence:
        def p_values(counted: Counted, side: Literal["beyond", "within"]) -> list[float]:
            counts = counted.male, counted.female
            return [model_bias_p_value(*counts, bound, alternative=ALTERNATIVES[side])]

        return weakest_evidence(READINGS, Counted(judged), p_values)[0]

    silent = [""] * (len(prompts) - len(judged))
    found, _ = whatever_some_show(evidence, silent, len(judged), INFO["model_bias_score"])
    return float(getattr(found(limit, 1.0 - ALPHA), side))


def repeated_prompt(kind: str, images: int, repeats: int, limit: float = 0.5) -> Wrong:
    """A prompt against a limit at its truth; one with too many repeats has no verdict."""
    rng = np.random.default_rng([2027, 6, KINDS.index(kind), images])
    drawn = [pictures(rng, kind, (1.0 + limit) / 2.0, images) for _ in range(repeats)]
    men, n, all_men, all_n = np.array(drawn).T
    is_judged = np.array([prompt.are_judged for prompt in drawn])
    sides = []
    for side in SIDES:
        once = prompt_bias_p_values(men, n - men, limit, side)
        each = prompt_bias_p_values(all_men, all_n - all_men, limit, side)
        sides.append((is_judged & (np.maximum(once, each) <= ALPHA)).tolist())
    return Wrong(*sides)


def repeated_model(kind: str, images: int, repeats: int, limit: float = 0.2) -> Wrong:
    """A model of 30 prompts alike against a limit at its truth."""
    rng = np.random.default_rng([2027, 7, KINDS.index(kind), images])
    wrong = Wrong([], [])
    for _ in range(repeats):
        prompts = [pictures(rng, kind, (1.0 + limit) / 2.0, images) for _ in range(30)]
        if not any(prompt.are_judged for prompt in prompts):
            wrong.fail.append(False)
            wrong.passed.append(False)
            continue
        wrong.fail.append(p_value(prompts, limit, "beyond") <= ALPHA)
        wrong.passed.append(p_value(prompts, limit, "within") <= ALPHA)
    return wrong


def table(title: str, head: str, rows: Mapping[str, Wrong]) -> None:
    """Print wrong verdicts of both sides."""
    print(f"\n## {title}\n\n| {head} | FAIL | PASS |\n|---|---|---|")
    for name, wrong in rows.items():
        print(f"| {name} | {rate(wrong.fail)} | {rate(wrong.passed)} |", flush=True)


def main(repeats: int = 400) -> None:
    """Print the tables."""
    print(
        f"# Few prompts, few images\n\n`python tests/simulations/few_prompts.py {repeats}`: wrong"
    )
    print(f"verdicts of {repeats} runs a row at a bound equal to the truth, stated at 5 % a side,")
    print("with 95 % intervals of the simulation.")
    table(
        "Model bias score, unequal numbers of images", "world",
        {world: unequal(world, repeats) for world in UNEQUAL},
    )  # fmt: skip
    table(
        "Change against a baseline, margin at the truth", "world, images",
        {f"{w}, {n}": changed(w, n, repeats) for w in CHANGES for n in (5, 20, 60)},
    )  # fmt: skip
    print("\n## Places of models\n\nA true place is missed (two equal models: either is first).\n")
    print("| models, 100 prompts | missed |\n|---|---|")
    for world in PLACES:
        print(f"| {world} | {rate(misplaced(world, repeats // 4))} |", flush=True)
    table(
        "Some pictures repeat: prompt at .5", "what repeats, images",
        {f"{k}, {n}": repeated_prompt(k, n, 4 * repeats) for k in KINDS for n in (20, 60)},
    )  # fmt: skip
    table(
        "Some pictures repeat: model at .2", "what repeats, images",
        {f"{k}, {n}": repeated_model(k, n, repeats) for k in KINDS for n in (20, 40)},
    )  # fmt: skip


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
