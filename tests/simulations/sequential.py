"""Prompts that stop by their own images: images used, prompts decided, and verdicts that are wrong.

    python tests/simulations/sequential.py 100 > tests/simulations/sequential.md

Each run draws the images of 100 prompts and lets the code that judges a run stop and judge them.
Beside it: a fixed number of images, and an oracle that knows how the world's scores are spread.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from uncertainty import rate
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.early_stopping import Stopping
from pytest_t2i.audits.engine.score import evidence_at_looks, interval_of, settled
from pytest_t2i.data import Evidence, Outcome
from pytest_t2i.statistics.group_sequential import SequentialTest
from pytest_t2i.verdicts.judge import decide

LEVEL, BOUND = 0.95, 0.5


def half(other: float) -> np.ndarray:
    """Fifty prompts at 0.95, fifty elsewhere."""
    return np.repeat([0.95, other], 50)


WORLDS: Mapping[str, np.ndarray] = {
    "SDXL": 2 * table7("sdxl") - 1,
    "SD3": 2 * table7("sd3") - 1,
    "fair": np.zeros(100),
    "half 0.95, half fair": half(0.0),
    "half 0.95, half at the limit": half(0.5),
    "5 at 1, 95 fair": np.repeat([1.0, 0.0], [5, 95]),
    "5 at 0.9, 95 fair": np.repeat([0.9, 0.0], [5, 95]),
    "all at the limit": np.full(100, 0.5),
    "30 at 0.95, 35 at the limit, 35 at 0.3": np.repeat([0.95, 0.5, 0.3], [30, 35, 35]),
    "all a hair beyond": np.full(100, 0.501),
    "long tail": np.clip(0.45 + 0.05 * np.arange(100) ** 0.5, 0, 1),
}
"""Prompt bias scores of 100 prompts."""


class Run(NamedTuple):
    """What one simulated run came to."""

    images: int
    outcomes: list[Outcome]
    covered: float = 1.0
    """Share of prompts whose interval holds the truth."""


class Lost(NamedTuple):
    """Share of images of men and of women that are undetected."""

    men: float = 0.0
    women: float = 0.0


def drawn(scores: np.ndarray, most: int, lost: Lost, rng: np.random.Generator) -> np.ndarray:
    """+1 male, -1 female, 0 undetected: [prompts, images]."""
    male = rng.random((len(scores), most)) < (1 + scores[:, None]) / 2
    gone = rng.random(male.shape) < np.where(male, lost.men, lost.women)
    return np.where(gone, 0, np.where(male, 1, -1))


def sequential(signs: np.ndarray, scores: np.ndarray, bound: float = BOUND) -> Run:
    """As a run with --t2i-sequential."""
    test = SequentialTest(signs.shape[1], bound, level=LEVEL, members=len(signs))
    stops = [Stopping(test.looks[:1], test) for _ in signs]
    open_ = list(range(len(signs)))
    for at in range(1, len(test.looks)):
        open_ = [k for k in open_ if state(signs[k], stops[k]) == "open"]
        for k in open_:
            stops[k] = Stopping(test.looks[: at + 1], test)
    members = [sample(row, stop) for row, stop in zip(signs, stops, strict=True)]
    found = evidence_at_looks(Bias(), members, bound, LEVEL, labelled=False)
    return Run(sum(s.images for s in stops), judged(found), coverage(members, scores))


def sample(signs: np.ndarray, stop: Stopping) -> Any:
    """What the code that judges asks of a prompt."""
    row = signs[: stop.images]
    counts = int(np.sum(row > 0)), int(np.sum(row < 0))
    return SimpleNamespace(
        signs=row, stopping=stop, alike=0.0, unknown=len(row) - sum(counts), level=LEVEL,
        judged=counts, male=counts[0], female=counts[1], corrected=None, has_no_verdict=False,
        distinct_among=lambda images: images,
    )  # fmt: skip


def state(signs: np.ndarray, stop: Stopping) -> str:
    """Where its own images have brought a prompt."""
    return str(settled(Bias(), sample(signs, stop)))


def coverage(members: Sequence[Any], scores: np.ndarray) -> float:
    """Share of intervals that hold the truth; of prompts with an image that is clear."""
    held = [
        interval.low - 1e-9 <= score <= interval.high + 1e-9
        for one, score in zip(members, scores, strict=True)
        if one.male + one.female
        for interval in [interval_of(Bias(), one)]
    ]
    return float(np.mean(held))


def judged(evidence: Sequence[Evidence]) -> list[Outcome]:
    """Verdicts by evidence."""
    return [decide(one, LEVEL) for one in evidence]


def fixed(signs: np.ndarray, bound: float = BOUND) -> Run:
    """All images of every prompt, judged once."""
    men, women = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
    beyond = statistics.family_p_values(men, women, bound, level=LEVEL)
    within = statistics.prompt_bias_p_values(men, women, bound, "within")
    return Run(signs.size, judged(list(map(Evidence, beyond, within))))


def by_oracle(signs: np.ndarray, scores: np.ndarray, bound: float = BOUND) -> Run:
    """Bayes' rule with the world's own spread; a prompt stops once it is 95 % sure."""
    most = signs.shape[1]
    folded = np.unique(np.abs(scores), return_counts=True)
    spread = np.concatenate([folded[0], -folded[0]])
    prior = np.tile(folded[1], 2) / (2 * len(scores))
    men = (signs > 0).cumsum(axis=1)
    total, outcomes = 0, []
    for row in men:
        n = np.arange(1, most + 1)[:, None]
        k = row[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(k > 0, k * np.log((1 + spread) / 2), 0.0) + np.where(
                n > k, (n - k) * np.log((1 - spread) / 2), 0.0
            )
        weight = np.exp(log - log.max(axis=1, keepdims=True)) * prior
        beyond = weight[:, np.abs(spread) > bound].sum(axis=1) / weight.sum(axis=1)
        sure = np.flatnonzero((beyond >= LEVEL) | (beyond <= 1 - LEVEL))
        at = int(sure[0]) if len(sure) else most - 1
        total += at + 1
        here = Outcome.FAIL if beyond[at] >= LEVEL else Outcome.PASS
        outcomes.append(here if len(sure) else Outcome.INCONCLUSIVE)
    return Run(total, outcomes)


class Row(NamedTuple):
    """Means over runs."""

    images: float
    decided: float
    wrong_fails: list[float]
    wrong_passes: list[float]
    found: float
    passed: float
    covered: float


def row(runs: Sequence[Run], scores: np.ndarray, bound: float = BOUND) -> Row:
    """What runs of one rule came to."""
    beyond = np.abs(scores) > bound + 1e-9
    fails = [np.array([o is Outcome.FAIL for o in run.outcomes]) for run in runs]
    passes = [np.array([o is Outcome.PASS for o in run.outcomes]) for run in runs]
    return Row(
        float(np.mean([run.images for run in runs])),
        float(np.mean([np.mean(f | p) for f, p in zip(fails, passes, strict=True)])),
        [float((f & ~beyond).sum() / max(1, f.sum())) for f in fails],
        [float((p & beyond).sum() / max(1, beyond.sum())) for p in passes],
        float(np.mean([(f & beyond).sum() / max(1, beyond.sum()) for f in fails])),
        float(np.mean([(p & ~beyond).sum() / max(1, (~beyond).sum()) for p in passes])),
        float(np.mean([run.covered for run in runs])),
    )


def simulated(
    rule: str, scores: np.ndarray, most: int, repeats: int, seed: int, lost: Lost | None = None
) -> list[Run]:
    """Runs of one rule in one world."""
    rng = np.random.default_rng([seed, most, len(scores), int(1000 * np.abs(scores).sum())])
    runs = []
    for _ in range(repeats):
        signs = drawn(scores, most, lost or Lost(), rng)
        if rule == "own boundaries":
            runs.append(sequential(signs, scores))
        elif rule == "fixed":
            runs.append(fixed(signs))
        else:
            runs.append(by_oracle(signs, scores))
    return runs


def line(name: str, rule: str, most: int, found: Row, *, covers: bool) -> str:
    """One row of a table."""
    wrong = f"{np.mean(found.wrong_fails):.3f} | {np.mean(found.wrong_passes):.3f}"
    covered = f"{found.covered:.3f}" if covers else ""
    return (
        f"| {name} | {rule} | {most} | {found.images:.0f} | {found.decided:.3f} "
        f"| {found.found:.2f} | {found.passed:.2f} | {wrong} | {covered} |"
    )


HEAD = (
    "| world | rule | images at most | images of all prompts | decided | of those beyond FAIL "
    "| of those within PASS | wrong among FAILs | those beyond that PASS | intervals cover |\n"
    f"|{'---|' * 10}"
)


def lines(repeats: int, seed: int = 37) -> Iterator[str]:
    """The tables."""
    yield HEAD
    for name, scores in WORLDS.items():
        caps = {"own boundaries": (54, 112, 145), "oracle": (112,)}
        for rule in ("own boundaries", "fixed", "oracle"):
            for most in caps.get(rule, (20, 60, 100)):
                few = repeats if rule != "oracle" else max(1, repeats // 10)
                runs = simulated(rule, scores, most, few, seed)
                yield line(name, rule, most, row(runs, scores), covers=rule == "own boundaries")
    yield f"\n## Undetected images that depend on the group\n\n{HEAD}"
    for lost in (Lost(0.0, 0.1), Lost(0.1, 0.0), Lost(0.05, 0.05)):
        for name in ("SDXL", "all at the limit", "half 0.95, half at the limit"):
            runs = simulated("own boundaries", WORLDS[name], 112, repeats // 4, seed, lost)
            told = f"{name}; undetected: {lost.men:.0%} of men, {lost.women:.0%} of women"
            yield line(told, "own boundaries", 112, row(runs, WORLDS[name]), covers=True)


def main(repeats: int) -> None:
    """Print the page."""
    print(f"# Prompts that stop by their own images: simulation\n\n{__doc__}".rstrip())
    few = [1] * round(0.05 * repeats) + [0] * (repeats - round(0.05 * repeats))
    print(
        f"\n{repeats} runs a cell (a tenth for the oracle, a quarter with undetected images), 100 "
        f"prompts, limit {BOUND:g}, level {LEVEL:g}.\n"
        f"In so many runs a rate of 5 % is known as {rate(few)}.\n"
    )
    for text in lines(repeats):
        print(text, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
