"""Groups of any number: looked at again and again, and of several models side by side.

python tests/simulations/any_groups.py > tests/simulations/any_groups.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_t2i.statistics import clopper_pearson, one_sided
from pytest_t2i.statistics.deprecated import look_level
from pytest_t2i.statistics.distances import (
    fixed_ends,
    mean_total_variation_interval,
    one_against_rest,
)
from pytest_t2i.statistics.gaps import interval_difference
from pytest_t2i.statistics.planning import SHAPES
from pytest_t2i.statistics.ranks import group_ranking
from pytest_t2i.statistics.sequences import group_distance_sequence_p_value, looks

RUNS, LEVEL, MOST = 200, 0.95, 60
PROMPTS = 20
KINDS = ("alike", "groups missing", "a quarter one-sided", "mixed")


def world(groups: int, kind: str) -> np.ndarray:
    """Shares of each prompt, [PROMPTS, groups]; planted, the same in every run."""
    if kind == "alike":
        return np.tile(SHAPES[0](0.2, groups), (PROMPTS, 1))
    if kind == "groups missing":
        return np.tile(SHAPES[1](0.2, groups), (PROMPTS, 1))
    if kind == "mixed":
        return np.random.default_rng(5).dirichlet(np.full(groups, 1.5), PROMPTS)
    shares = np.full((PROMPTS, groups), 1.0 / groups)
    shares[: PROMPTS // 4] = np.eye(groups)[0]
    return shares


def distance(shares: np.ndarray) -> float:
    """Mean over prompts of half the L1 distance from even shares."""
    return float(np.abs(shares - 1.0 / shares.shape[1]).sum(axis=1).mean() / 2.0)


def draw(rng: np.random.Generator, images: int, shares: np.ndarray) -> np.ndarray:
    """Images per prompt and group."""
    return rng.multinomial(images, shares / shares.sum(axis=1, keepdims=True))


def looked_at(groups: int, kind: str, runs: int = RUNS) -> tuple[int, int]:
    """Runs of the model whose limit is the truth that FAIL at any look, and that PASS."""
    shares, rng = world(groups, kind), np.random.default_rng(groups)
    truth, even = distance(shares), np.full(groups, 1.0 / groups)
    fails = passes = 0
    for _ in range(runs):
        counts, made, found = np.zeros((PROMPTS, groups), dtype=int), 0, [False, False]
        for n in looks(MOST):
            counts, made = counts + draw(rng, n - made, shares), n
            level = one_sided(look_level(n, MOST, LEVEL))
            # The ends of ``mean_total_variation_interval``, whose estimate takes most of its time.
            low, high = fixed_ends(one_against_rest(counts, even), level)
            found = [found[0] or low > truth, found[1] or high < truth]
        fails, passes = fails + found[0], passes + found[1]
    return fails, passes


def streamed(groups: int, shape: int, runs: int = RUNS) -> tuple[int, int, int, int]:
    """A prompt looked at after each image: wrong FAIL and PASS at its limit, right ones beyond it.

    The right ones are of a prompt at twice and at none of the limit, with 200 images at most.
    """
    rng, bound = np.random.default_rng([groups, shape]), 0.3

    def decided(truth: float, side: str, most: int) -> bool:
        shares = SHAPES[shape](truth, groups)
        seen = rng.choice(groups, size=most, p=shares / shares.sum())
        shown = np.eye(groups, dtype=int)[seen].cumsum(axis=0)
        return any(
            group_distance_sequence_p_value(
                dict(zip(map(str, range(groups)), row.tolist(), strict=True)), bound, side
            )
            <= 1.0 - LEVEL
            for row in shown[1::3]
        )

    asked = ((bound, "greater"), (bound, "less"), (2 * bound, "greater"), (0.0, "less"))
    return tuple(  # type: ignore[return-value]
        sum(decided(truth, side, 200) for _ in range(runs)) for truth, side in asked
    )


def compared(groups: int, one: str, other: str, images: int, runs: int = RUNS) -> tuple[int, int]:
    """Runs that tell two models apart, and whose interval of the difference covers.

    The other is scaled to the same distance where its own is larger.
    """
    rng, even = np.random.default_rng([groups, images]), np.full(groups, 1.0 / groups)
    first, second = world(groups, one), world(groups, other)
    scale = distance(first) / distance(second)
    second = even + min(1.0, scale) * (second - even)
    first = even + min(1.0, 1.0 / scale) * (first - even)
    truth = distance(second) - distance(first)
    told = covered = 0
    for _ in range(runs):
        counts = [draw(rng, images, shares) for shares in (first, second)]
        ranks = group_ranking(counts, level=LEVEL, seed=0)
        told += any(rank.low == rank.high for rank in ranks)
        both = [mean_total_variation_interval(n, even, level=LEVEL) for n in counts]
        covered += truth in interval_difference(*both)
    return told, covered


def rate(count: int, runs: int = RUNS) -> str:
    """A rate with the interval of the simulation."""
    interval = clopper_pearson(count, runs, LEVEL)
    return f"{count / runs:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def lines() -> Iterator[str]:
    """The tables."""
    yield "# Groups of any number: early stopping, and several models"
    yield ""
    yield (
        f"`python tests/simulations/any_groups.py`: {RUNS} runs each, {PROMPTS} prompts, verdicts "
        f"at {LEVEL}; in brackets 95 % intervals of the simulation."
    )
    yield ""
    yield f"## The model, looked at up to {MOST} images per prompt, its limit at the truth"
    yield ""
    yield "| groups | world | FAILs wrongly at any look | PASSes wrongly |"
    yield "|---|---|---|---|"
    for groups in (3, 7):
        for kind in KINDS:
            fails, passes = looked_at(groups, kind)
            yield f"| {groups} | {kind} | {rate(fails)} | {rate(passes)} |"
    yield ""
    yield "## A prompt, looked at after every third image up to 200; its limit is 0.3"
    yield ""
    yield "| groups | shares | FAILs at 0.3 | PASSes at 0.3 | FAILs at 0.6 | PASSes at 0 |"
    yield "|---|---|---|---|---|---|"
    for groups in (3, 7):
        for shape, name in enumerate(("one has more", "some are missing")):
            yield f"| {groups} | {name} | {' | '.join(map(rate, streamed(groups, shape)))} |"
    yield ""
    yield "## Two models of equal distance, however it is spread"
    yield ""
    yield "| groups | models | images | told apart, wrongly | the difference is covered |"
    yield "|---|---|---|---|---|"
    for groups in (3, 7):
        for one, other in (("alike", "alike"), ("alike", "a quarter one-sided")):
            for images in (20, 60):
                told, covered = compared(groups, one, other, images)
                yield f"| {groups} | {one}; {other} | {images} | {rate(told)} | {rate(covered)} |"


if __name__ == "__main__":
    for line in lines():
        print(line)
