"""Verdicts on the Vendi score against a limit at the truth, that of all images of a prompt.

Images are unit features of people or of kinds of pictures, the rarest of which few images show.

    python tests/simulations/vendi.py > tests/simulations/vendi.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from instruments import one_sided

from pytest_t2i.metrics import vendi_score
from pytest_t2i.statistics import clopper_pearson
from pytest_t2i.statistics.variety import vendi_interval

LEVEL, RUNS, ALL = 0.9, 200, 4000
KINDS = np.random.default_rng(0).normal(size=(60, 64))
COMMON = 2.0 * np.random.default_rng(1).normal(size=64)
World = Callable[[np.random.Generator, int], np.ndarray]


def kinds(
    rng: np.random.Generator, n: int, *, shares: Sequence[float], noise: float, alike: float
) -> np.ndarray:
    """Pictures of kinds by their shares; ``alike`` of what they have in common."""
    chance = np.array(shares) / np.sum(shares)
    drawn = KINDS[rng.choice(len(chance), n, p=chance)]
    rows = alike * COMMON + drawn + noise * rng.normal(size=(n, 64))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def apart(rng: np.random.Generator, n: int, *, shares: np.ndarray) -> np.ndarray:
    """Pictures of kinds that have nothing in common: equal, or at right angles."""
    return np.eye(len(shares))[rng.choice(len(shares), n, p=shares / shares.sum())]


def entropy(world: str) -> float | None:
    """The exact score of kinds that have nothing in common; None for other worlds."""
    made = WORLDS[world]
    if not isinstance(made, partial) or made.func is not apart:
        return None
    shares = made.keywords["shares"] / made.keywords["shares"].sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


WORLDS: dict[str, World] = {
    "people, half with an attribute": lambda rng, n: one_sided(rng, n, 0.5)[0],
    "people, 0.9 with it": lambda rng, n: one_sided(rng, n, 0.9)[0],
    "people, 0.98 with it": lambda rng, n: one_sided(rng, n, 0.98)[0],
    "5 kinds": partial(kinds, shares=[1] * 5, noise=0.3, alike=1.0),
    "5 kinds with nothing in common": partial(kinds, shares=[1] * 5, noise=0.3, alike=0.0),
    "two kinds, 0.9 and 0.1": partial(kinds, shares=[9, 1], noise=0.2, alike=0.0),
    "two kinds, 0.98 and 0.02": partial(kinds, shares=[49, 1], noise=0.2, alike=0.0),
    "50 kinds, ever rarer": partial(kinds, shares=1.0 / np.arange(1, 51), noise=0.2, alike=1.0),
    "one kind": partial(kinds, shares=[1], noise=0.5, alike=1.0),
    "40 kinds by 1 / k^2": partial(apart, shares=1.0 / np.arange(1.0, 41.0) ** 2),
    "50 even kinds": partial(apart, shares=np.ones(50)),
    "half of one kind, 40 others": partial(apart, shares=np.r_[40.0, np.ones(40)]),
    "0.97 of one kind, 500 others": partial(apart, shares=np.r_[0.97 * 500 / 0.03, np.ones(500)]),
    "1000 kinds by 1 / k^1.5": partial(apart, shares=1.0 / np.arange(1.0, 1001.0) ** 1.5),
    "300 even kinds": partial(apart, shares=np.ones(300)),
}


def truth(world: str) -> float:
    """Score of very many images."""
    return entropy(world) or vendi_score(WORLDS[world](np.random.default_rng(77), ALL))


def verdicts(
    world: str, n: int, limit: float, *, runs: int, seed: int
) -> tuple[int, int, float, float]:
    """Runs that FAIL and PASS a limit, the median score and high end."""
    rng = np.random.default_rng([seed, n])
    known = [
        vendi_interval(WORLDS[world](rng, n), level=LEVEL, seed=run, resamples=60)
        for run in range(runs)
    ]
    failed = sum(one.high < limit - 1e-9 for one in known)
    passed = sum(one.low >= limit + 1e-9 for one in known)
    return failed, passed, *(float(np.median([getattr(one, end) for one in known])) for end in
                             ("estimate", "high"))  # fmt: skip


def shown(count: int, runs: int) -> str:
    found = clopper_pearson(count, runs, 0.95)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def main() -> None:
    sizes = (6, 10, 20, 40, 100)
    print("# Vendi score\n\n`python tests/simulations/vendi.py`: "
          f"{RUNS} sets each, one-sided level 0.95;")  # fmt: skip
    print("in brackets 95 % intervals of the simulation. The truth is the score of "
          f"{ALL} images.\n")  # fmt: skip
    print("## A limit at the truth\n\nFAIL / PASS (both wrong, 0.05 stated), and the median of")
    print("score and high end.\n")
    print("| world | truth | " + " | ".join(f"{n} images" for n in sizes) + " |")
    print("|---|---|" + "---|" * len(sizes))
    pooled = np.zeros((len(sizes), 2), dtype=int)
    for world in WORLDS:
        limit, cells = truth(world), []
        for place, n in enumerate(sizes):
            failed, passed, score, high = verdicts(world, n, limit, runs=RUNS, seed=21)
            pooled[place] += failed, passed
            ends = f"{score:.2f}, {high:.2f}"
            cells.append(f"{shown(failed, RUNS)} / {shown(passed, RUNS)}<br>{ends}")
        print(f"| {world} | {limit:.2f} | " + " | ".join(cells) + " |")
        sys.stdout.flush()
    total = RUNS * len(WORLDS)
    cells = [f"{shown(int(f), total)} / {shown(int(p), total)}" for f, p in pooled]
    print("| all worlds | | " + " | ".join(cells) + " |")
    print("\n## Limits for one kind of pictures (FAIL is right)\n")
    print("| limit | " + " | ".join(f"{n} images" for n in sizes) + " |\n" + "|---" * 6 + "|")
    for limit in (5.0, 10.0, 20.0):
        found = (verdicts("one kind", n, limit, runs=RUNS, seed=22)[0] for n in sizes)
        print(f"| {limit:g} | " + " | ".join(shown(count, RUNS) for count in found) + " |")


if __name__ == "__main__":
    main()
