"""Groups of any number, of several models side by side.

python tests/simulations/any_groups.py > tests/simulations/any_groups.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
)
from pytest_t2i.statistics.gaps import interval_difference
from pytest_t2i.statistics.ranks import group_ranking

RUNS, LEVEL = 200, 0.95
PROMPTS = 20
KINDS = ("alike", "groups missing", "a quarter one-sided", "mixed")


def _one_more(distance: float, groups: int) -> np.ndarray:
    """Shares at a distance from even ones, where one group has more and all others less."""
    shares = np.full(groups, 1.0 / groups - distance / (groups - 1))
    shares[0] = 1.0 / groups + distance
    return np.clip(shares, 0.0, 1.0)


def _some_missing(distance: float, groups: int) -> np.ndarray:
    """Shares at a distance from even ones, where groups are missing and others have more."""
    lost = np.clip(distance - np.arange(groups) / groups, 0.0, 1.0 / groups)[::-1]
    gains = lost == 0.0
    if not gains.any():
        gains[0] = True
    return 1.0 / groups - lost + gains * distance / gains.sum()


SHAPES = (_one_more, _some_missing)
"""Shares at a given distance: with the fewest groups above even, and the fewest below."""


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
    interval = share_interval(count, runs, LEVEL)
    return f"{count / runs:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def lines() -> Iterator[str]:
    """The tables."""
    yield "# Groups of any number, of several models"
    yield ""
    yield (
        f"`python tests/simulations/any_groups.py`: {RUNS} runs each, {PROMPTS} prompts, verdicts "
        f"at {LEVEL}; in brackets 95 % intervals of the simulation."
    )
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
