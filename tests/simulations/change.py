"""The interval of a change against a baseline, where scores are equal and spreads of bias are not.

python tests/simulations/change.py > tests/simulations/change.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from worlds import FIXED

from pytest_t2i.statistics import paired_model_bias_change, share_interval
from pytest_t2i.statistics.change import _by_tables, _comparable

LEVEL, ONE_SIDED, RUNS = 0.95, 0.9, 250
SIZES = ((100, 8), (100, 20), (30, 20), (100, 60))
"""Prompts and images."""
Biases = Callable[[int], np.ndarray]


def at(bias: float) -> Biases:
    """All prompts alike."""
    return lambda n: np.full(n, bias)


def one_sided(share: float) -> Biases:
    """A share of prompts one-sided, one in between, all others fair."""
    return lambda n: np.clip(share * n - np.arange(n), 0.0, 1.0)


def halves(one: float, other: float) -> Biases:
    return lambda n: np.where(np.arange(n) < n // 2, one, other)


def beta(a: float, b: float) -> Biases:
    return lambda n: np.asarray(stats.beta.ppf((np.arange(n) + 0.5) / n, a, b))


def alike(biases: Biases) -> Biases:
    """All prompts at the mean of others."""
    return lambda n: np.full(n, biases(n).mean())


SAME: dict[str, Biases] = {
    "fair": at(0.0), "all .2": at(0.2), "all .5": at(0.5), "SDXL's rates": FIXED["sdxl"],
    "a fifth at .8": FIXED["20 % at 0.8, rest fair"], "Beta(1, 2)": beta(1.0, 2.0),
}  # fmt: skip
EQUAL: dict[str, tuple[Biases, Biases]] = {
    "all .1; a tenth one-sided": (at(0.1), one_sided(0.1)),
    "a tenth one-sided; all .1": (one_sided(0.1), at(0.1)),
    "all .3; three tenths one-sided": (at(0.3), one_sided(0.3)),
    "all .7; seven tenths one-sided": (at(0.7), one_sided(0.7)),
    "all .2; half .4": (at(0.2), halves(0.0, 0.4)),
    "half .3; all .15": (halves(0.0, 0.3), at(0.15)),
    "all .1; half .2": (at(0.1), halves(0.0, 0.2)),
    "long tail, Beta(.3, 2.7); all alike": (beta(0.3, 2.7), alike(beta(0.3, 2.7))),
    "Beta(1, 2); all alike": (beta(1.0, 2.0), alike(beta(1.0, 2.0))),
}
GROWN: dict[str, tuple[Biases, Biases]] = {
    "all .1; 15 % one-sided": (at(0.1), one_sided(0.15)),
    "all .1; a fifth one-sided": (at(0.1), one_sided(0.2)),
    "fair; a tenth one-sided": (at(0.0), one_sided(0.1)),
    "all .1; all .3": (at(0.1), at(0.3)),
    "all .5; all .6": (at(0.5), at(0.6)),
    "fair; all .2": (at(0.0), at(0.2)),
    "fair; all .1": (at(0.0), at(0.1)),
    "all .1; fair": (at(0.1), at(0.0)),
}


class Found(NamedTuple):
    """Of all runs."""

    missed: int
    """95 % intervals without the truth."""
    failed: int
    """Runs that fail a margin at the truth, at one-sided 95 %."""
    passed: int
    """Runs that pass it."""
    missed_before: int
    """Misses of the interval by tables alone, as it was."""
    half: float
    """Mean half-width."""
    half_before: float


def found(before: Biases, after: Biases, prompts: int, n: int, *, runs: int, seed: int) -> Found:
    """Judge runs of a change; prompts that are not alike are at random places after it."""
    counts, halves_ = np.zeros(4, dtype=int), np.zeros(2)
    for run in range(runs):
        rng = np.random.default_rng([seed, prompts, n, run])
        old = before(prompts)
        new = old if after is before else rng.permutation(after(prompts))
        sides = rng.choice([-1, 1], prompts)
        men, now = (rng.binomial(n, (1 + bias * sides) / 2) for bias in (old, new))
        true, pair = float(new.mean() - old.mean()), (men, n - men, now, n - now)
        told = paired_model_bias_change(*pair, level=LEVEL, seed=0)
        judged = paired_model_bias_change(*pair, level=ONE_SIDED, seed=0)
        tables = _by_tables(*_comparable(*pair), LEVEL)[0]
        counts += (
            not told.low - 1e-9 <= true <= told.high + 1e-9,
            judged.low > true + 1e-9,
            judged.high < true - 1e-9,
            not tables.low - 1e-9 <= true <= tables.high + 1e-9,
        )
        halves_ += (told.high - told.low) / 2, (tables.high - tables.low) / 2
    return Found(*counts.tolist(), *(halves_ / runs).tolist())


def shown(count: int, n: int) -> str:
    seen = share_interval(count, n, 0.95)
    return f"{seen.estimate:.3f} [{seen.low:.3f}, {seen.high:.3f}]"


def main() -> None:
    print(f"# Interval of a change\n\n`python tests/simulations/change.py`: {RUNS} runs each;")
    print(
        "in brackets 95 % intervals of the simulation. Misses of the 95 % interval (0.05 stated);"
    )
    print(
        "FAIL and PASS of a margin at the truth at one-sided 95 % (0.05 stated); mean half-width."
    )
    print("By tables: without the bounds where prompts may have moved, as it was.")
    worlds = (
        ("The same model twice", {name: (one, one) for name, one in SAME.items()}),
        ("Equal scores, unequal spread (before; after)", EQUAL),
        ("Scores that changed (before; after)", GROWN),
    )
    for title, kinds in worlds:
        print(f"\n## {title}\n\n| world | prompts x images | misses | FAIL | PASS | half-width |"
              " by tables: misses | half-width |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
        pooled = np.zeros(4, dtype=int)
        for name, (before, after) in kinds.items():
            for prompts, n in SIZES:
                cell = found(before, after, prompts, n, runs=RUNS, seed=61)
                pooled += cell[:4]
                rates = [shown(count, RUNS) for count in cell[:4]]
                print(f"| {name} | {prompts} x {n} | {' | '.join(rates[:3])} | {cell.half:.3f} |"
                      f" {rates[3]} | {cell.half_before:.3f} |")  # fmt: skip
                sys.stdout.flush()
        rates = [shown(int(count), RUNS * len(kinds) * len(SIZES)) for count in pooled]
        print(f"| all | | {' | '.join(rates[:3])} | | {rates[3]} | |")


if __name__ == "__main__":
    main()
