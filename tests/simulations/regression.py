"""False alarms and power of the regression gate: exact test, interval, prompts, suspects.

python tests/simulations/regression.py 400 > tests/simulations/regression.md
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from many_worlds import images, scores
from worlds import table7

from pytest_t2i import statistics
from pytest_t2i.statistics.change import growth_probabilities
from pytest_t2i.statistics.permutation import paired_change_p_value

LEVEL, ALPHA, MARGIN = 0.95, 0.05 + 1e-12, 0.05
REDRAWS = 1000
TESTS = 200
"""Repeats of the exact test at most: it takes most of the time, and is exact by construction."""
FEW = 80
"""Repeats of the tables of pairing (a quarter of it: of suspects) at most."""
TESTED = ("fair", "SDXL's rates", "all at the limit", "half at 0.95, half fair")
EVEN, SPLIT = np.full(100, 0.2), np.repeat([1.0, 0.0], [20, 80])
"""Two spreads of the score 0.2: throughout, and a fifth of the prompts at 1."""


@dataclass(frozen=True)
class Change:
    """A baseline and what came after it, as |2p - 1| of the same prompts."""

    before: np.ndarray
    after: np.ndarray

    @property
    def size(self) -> float:
        """Growth of the model bias score."""
        return float(np.mean(self.after) - np.mean(self.before))

    def some(self, prompts: int, rng: np.random.Generator) -> Change:
        """The same of so many of its prompts."""
        chosen = rng.choice(len(self.before), size=prompts, replace=False)
        return Change(self.before[chosen], self.after[chosen])


def pushed(score: np.ndarray, prompts: int, push: float, seed: int = 0) -> Change:
    """Some prompts, of those with room for it, lie further out by ``push``."""
    order = np.random.default_rng(seed).permutation(len(score))
    order = order[np.argsort(np.maximum(score[order], 1 - push), kind="stable")]
    after = score.copy()
    after[order[:prompts]] = np.minimum(1.0, after[order[:prompts]] + push)
    return Change(score, after)


def gate(
    change: Change, kinds: tuple[int | str, int | str], repeats: int, seed: int, prompts: int = 100,
    tests: int | None = None,
) -> dict[str, float]:  # fmt: skip
    """How often the exact test and the interval claim a worsening; misses of the interval.

    The test, which takes most of the time, is made in the first ``tests`` repeats.
    """
    rng = np.random.default_rng(seed)
    total: dict[str, float] = {}
    for repeat in range(repeats):
        part = change if prompts == len(change.before) else change.some(prompts, rng)
        n = [images(kind, prompts, rng) for kind in kinds]
        men = [
            rng.binomial(size, (1 + score) / 2)
            for size, score in zip(n, (part.before, part.after), strict=True)
        ]
        counts = (men[0], n[0] - men[0], men[1], n[1] - men[1])
        if not np.any(np.minimum(*n) > 1):
            continue
        interval = statistics.paired_model_bias_change(*counts, level=LEVEL, seed=0)
        # Prompts without two clear images on both sides are not among those that change.
        used = np.minimum(*n) > 1
        true = float(np.mean(part.after[used]) - np.mean(part.before[used]))
        tested = repeats if tests is None else min(tests, repeats)
        if repeat < tested:
            p = statistics.change_p_value(*counts, seed=seed + repeat, redraws=REDRAWS)
            total["test"] = total.get("test", 0.0) + (p <= ALPHA) / tested
        row = {
            "interval": interval.low > 0,
            "margin": interval.low > MARGIN,
            "above": interval.low > true + 1e-9,
            "below": interval.high < true - 1e-9,
            "half": (interval.high - interval.low) / 2,
        }
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + float(value) / repeats
    return total


def pairing(change: Change, alike: float, n: int, repeats: int, seed: int) -> tuple[float, float]:
    """How often the test by prompt and the one by seed find a worsening.

    An image is made by the same draw before and after with probability ``alike``.
    """
    rng = np.random.default_rng(seed)
    result = np.zeros(2)
    for repeat in range(repeats):
        draws = [rng.random((len(change.before), n)) for _ in range(2)]
        draws[1] = np.where(rng.random(draws[0].shape) < alike, draws[0], draws[1])
        signs = [
            np.where(draw < (1 + score)[:, None] / 2, 1, -1)
            for draw, score in zip(draws, (change.before, change.after), strict=True)
        ]
        counts = [(entry == sign).sum(axis=1) for entry in signs for sign in (1, -1)]
        p = (
            statistics.change_p_value(*counts, seed=repeat, redraws=REDRAWS),
            paired_change_p_value(*map(list, signs), seed=repeat, redraws=REDRAWS),
        )
        result += np.array(p) <= ALPHA
    return float(result[0] / repeats), float(result[1] / repeats)


def suspects(change: Change, n: int, repeats: int, seed: int, sure: float) -> tuple[float, float]:
    """Suspects per run that empirical Bayes is so sure of, and the share that did not grow."""
    rng = np.random.default_rng(seed)
    named = wrong = 0
    grew = change.after > change.before + 1e-9
    for _ in range(repeats):
        men = [rng.binomial(n, (1 + score) / 2) for score in (change.before, change.after)]
        p = growth_probabilities(men[0], n - men[0], men[1], n - men[1])
        chosen = p >= sure
        named += int(chosen.sum())
        wrong += int((chosen & ~grew).sum())
    return named / repeats, wrong / max(1, named)


def main(repeats: int = 400) -> None:
    """Print the tables."""
    print("# Regression gate: simulation\n")
    print(f"Made by `python tests/simulations/regression.py {repeats}`, seeded, {repeats} repeats,")
    print("images of other seeds before and after. Test: p <= 0.05 by `change_p_value` (1000")
    print(f"redraws and {TESTS} repeats here). Interval: the one about fixed words begins above 0,")
    print("above the margin of 0.05; its misses on either side (at most 0.025 each wanted) and its")
    print("half-width.\n")
    header = (
        "| world | prompts | before, images | after | test | above 0 | above 0.05 "
        "| begins above the truth | ends below it | half-width |\n" + "|---" * 10 + "|"
    )
    print("## The same model twice: false alarms\n")
    print(header)
    for world, score in scores().items():
        for kinds in ((8, 8), (20, 20), (100, 20), ("2 to 40", 20), ("20, 30 % lost", 20)):
            checked = world in TESTED and kinds in {(20, 20), (100, 20)}
            row(world, Change(score, score), kinds, repeats, tests=TESTS if checked else 0)
    for world in ("SDXL's rates", "fair", "all at the limit"):
        for prompts in (1, 3, 10):
            for kinds in ((20, 20), (100, 20)):
                same = Change(scores()[world], scores()[world])
                row(world, same, kinds, repeats, prompts, tests=TESTS)
    sdxl = np.abs(2 * table7("sdxl") - 1)
    print("\n## SDXL's rates, some prompts pushed: power\n")
    print(header)
    for prompts, push, n in ((10, 0.4, 20), (20, 0.4, 8), (20, 0.4, 20), (30, 0.2, 20)):
        change = pushed(sdxl, prompts, push)
        row(f"{prompts} by {push} ({change.size:+.3f})", change, (n, n), repeats)
    row("10 by 0.4", pushed(sdxl, 10, 0.4), (100, 20), repeats)
    for before in ("Dreamlike's rates", "fair"):
        row(f"{before} to SDXL's", Change(scores()[before], sdxl), (20, 20), repeats)
    print("\n## Another spread of the same score\n")
    print("0.2 throughout, and a fifth of the prompts one-sided, the others even. The model is")
    print("not the same, so the test may say so; the score is, so the interval should hold it.\n")
    print(header)
    for name, change in (
        ("throughout to a fifth", Change(EVEN, SPLIT)),
        ("a fifth to throughout", Change(SPLIT, EVEN)),
    ):
        for n in (8, 20, 100):
            row(name, change, (n, n), repeats)
    others(sdxl, min(repeats, FEW))


def others(sdxl: np.ndarray, repeats: int) -> None:
    """Tables of pairing and of suspects."""
    print("\n## Pairs of one seed\n")
    print(f"{repeats} repeats. SDXL's rates, 20 images; a pair is made by the same draw with the")
    print("probability given.\n")
    print("| pushed | alike | found by prompt | found by seed |\n|---|---|---|---|")
    for prompts, push in ((0, 0.0), (10, 0.2), (10, 0.4)):
        for alike in (0.0, 0.5, 0.9):
            by = pairing(pushed(sdxl, prompts, push), alike, 20, min(repeats, TESTS), seed=6)
            print(f"| {prompts} by {push} | {alike} | {by[0]:.3f} | {by[1]:.3f} |", flush=True)
    print("\n## Suspects by empirical Bayes\n")
    print(
        f"{repeats // 4} repeats. Prompts whose probability of having grown is at least as given;"
    )
    print("SDXL's rates.\n")
    print("| pushed | images | probability | suspects a run | wrong |\n|---|---|---|---|---|")
    for prompts, push in ((0, 0.0), (10, 0.4), (20, 0.4)):
        for n in (8, 20, 40):
            for sure in (0.5, 0.8, 0.95):
                named, wrong = suspects(
                    pushed(sdxl, prompts, push), n, repeats // 4, seed=9, sure=sure
                )
                print(f"| {prompts} by {push} | {n} | {sure} | {named:.2f} | {wrong:.2f} |")


def row(
    name: str, change: Change, kinds: tuple[int | str, int | str], repeats: int,
    prompts: int = 100, tests: int = TESTS,
) -> None:  # fmt: skip
    """One row."""
    r = gate(change, kinds, repeats, seed=4, prompts=prompts, tests=tests)
    keys = ("test", "interval", "margin", "above", "below", "half")
    cells = " | ".join(f"{r[key]:.3f}" if key in r else "-" for key in keys)
    print(f"| {name} | {prompts} | {kinds[0]} | {kinds[1]} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
