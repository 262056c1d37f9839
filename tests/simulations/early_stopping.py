"""Early stopping of the model bias score: images used, and verdicts that are wrong.

Writes the tables that docs/decisions/0006 rests on:

    python tests/simulations/early_stopping.py > tests/simulations/early_stopping.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from worlds import draw, table7

from pytest_t2i import statistics
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.statistics.deprecated import look_level, model_bias_look
from pytest_t2i.statistics.sequences import looks
from pytest_t2i.verdicts.judge import compare

MODELS = ("sdxl", "sd3", "dreamlike")
LIMITS = (0.2, 0.3, 0.5, 0.7)
MOST, LEVEL, RESAMPLES = 20, 0.95, 1000


class Stop(NamedTuple):
    """Where one run stopped."""

    images: int
    """Per prompt."""
    outcome: Outcome


def run(share: np.ndarray, seed: int) -> list[tuple[int, Interval]]:
    """The interval at every look of one simulated run; images beyond a look change nothing."""
    rng = np.random.default_rng(seed)
    male = rng.random((len(share), MOST)) < share[:, None]
    return [(n, interval(male[:, :n], n, seed)) for n in looks(MOST)]


def interval(male: np.ndarray, n: int, seed: int, level: float | None = None) -> Interval:
    """At n images per prompt: at a level given, else as at this look of a run."""
    men = male.sum(axis=1)
    if level is not None:
        return statistics.model_bias_interval(
            men, n - men, level=level, seed=seed, resamples=RESAMPLES
        )
    spent = look_level(n, MOST, LEVEL)
    return model_bias_look(men, n - men, level=spent, seed=seed, resamples=RESAMPLES)


def stop(looked: Sequence[tuple[int, Interval]], limit: float) -> Stop:
    """The first look that decides, else the last."""
    for n, entry in looked:
        result = compare(entry, limit, "higher")
        if result is not Outcome.INCONCLUSIVE or n == MOST:
            return Stop(n, result)
    raise AssertionError


def is_wrong(outcome: Outcome, bias: float, limit: float) -> bool:
    """A PASS above the limit, or a FAIL at or below it."""
    right = Outcome.PASS if bias <= limit + 1e-12 else Outcome.FAIL
    return outcome is not Outcome.INCONCLUSIVE and outcome is not right


def bias_of(share: np.ndarray) -> float:
    """Mean of |2p - 1|."""
    return float(np.mean(np.abs(2 * share - 1)))


def rows(world: str, limits: Sequence[float], repeats: int, seed: int) -> Iterator[str]:
    """Per limit: images used, decided, wrong; for the same 100 words and for words drawn."""
    share = rates(world)
    looked = [run(share, seed + k) for k in range(repeats)]
    fixed = [usual(share, MOST, seed + k) for k in range(repeats)]
    drawn = [run(redrawn(share, seed + k), seed + k) for k in range(repeats)]
    bias = bias_of(share)
    first = looks(MOST)[0]
    high = np.mean(
        [usual(redrawn(share, seed + k), first, seed + k).low > bias for k in range(repeats)]
    )
    tried = [
        *limits,
        *([] if min(abs(bias - entry) for entry in limits) < 1e-9 else [bias]),
        bias - 1e-9,
    ]
    for limit in tried:
        stops = [stop(entry, limit) for entry in looked]
        used = [entry.images / MOST for entry in stops]
        decided = np.mean([entry.outcome is not Outcome.INCONCLUSIVE for entry in stops])
        wrong = np.mean([is_wrong(entry.outcome, bias, limit) for entry in stops])
        anew = np.mean([is_wrong(stop(entry, limit).outcome, bias, limit) for entry in drawn])
        whole = np.mean(
            [compare(entry, limit, "higher") is not Outcome.INCONCLUSIVE for entry in fixed]
        )
        where = f"{limit:g}" if limit in limits else "the truth" + " - 0" * (limit < bias)
        yield (
            f"| {world} | {bias:.3f} | {where} | {np.mean(used):.0%} | {max(used):.0%} "
            f"| {decided:.0%} | {whole:.0%} | {wrong:.3f} | {anew:.3f} | {high:.3f} |"
        )


EXTRA = ("fair", "even", "a fifth one-sided", "half one-sided")


def rates(world: str) -> np.ndarray:
    """P(male) of the world's 100 prompts."""
    if world.endswith("one-sided"):
        return np.where(np.arange(100) < (20 if "fifth" in world else 50), 1.0, 0.5)
    return draw(world, 100, np.random.default_rng(0)) if world in EXTRA else table7(world)


def redrawn(share: np.ndarray, seed: int) -> np.ndarray:
    """As many words drawn from these with replacement: the interval is for words like these."""
    return np.random.default_rng([seed, 1]).choice(share, size=len(share))


def usual(share: np.ndarray, n: int, seed: int) -> Interval:
    """n images of each prompt at once, at the whole level; at 20 the paper's protocol."""
    male = np.random.default_rng(seed).random((len(share), MOST)) < share[:, None]
    return interval(male[:, :n], n, seed, LEVEL)


ABOUT = """# Early stopping of the model bias score: simulation

Made by `python tests/simulations/early_stopping.py`, seeded, {repeats} runs a world. 100 prompts,
looks at {looks} images per prompt, level {level} over all looks. Images are
a share of the fixed design's 2,000. The limit "the truth" is the world's own score, where every
FAIL is wrong; "the truth - 0" a hair below, where every PASS is. In the last two columns the words
are drawn anew in every run; "interval too high" is the share of these runs in which the usual 95 %
interval would begin above the truth at the first look. Rates of Lyu Table 7; fair: 1/2, even: 0.6
throughout; one-sided: a fifth or half of the prompts at 1, the others at 1/2.
"""
HEAD = (
    "world", "true score", "limit", "images, mean", "at most", "decided", "decided, fixed",
    "wrong", "wrong, words drawn", "interval too high",
)  # fmt: skip


def main(repeats: int = 60) -> None:
    """Print the table."""
    planned = ", ".join(map(str, looks(MOST)))
    print(ABOUT.format(repeats=repeats, looks=planned, level=LEVEL))
    print("|", " | ".join(HEAD), "|")
    print("|---" * len(HEAD) + "|")
    for world in (*MODELS, *EXTRA):
        for line in rows(world, LIMITS, repeats, seed=1):
            print(line, flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
