"""Exact tails of a sum over few prompts, the largest over all distributions of bias with one mean.

Where prompts have unequal numbers of images, a mean over a handful of them is skewed, and no normal
approximation holds. Here an adversary divides a budget, the sum of the prompts' biases, among the
prompts, and may look at the earlier ones before each choice: that gives a bound of the tail for
every distribution of bias, by one pass over the prompts (dynamic programming). It is hardly larger
than the largest tail itself (tests/unit/statistics/test_worst_case.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.data import ROUNDING
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.bounding import SUITE, Side, bounding_distance

MOST_PROMPTS = 15
"""Largest number of prompts for which the tail is computed."""
UNEQUAL = 0.9
"""Share of the prompts that must be effective for a mean over them to count as nearly normal."""
STEPS = 20
"""Steps of a prompt's bias from 0 to 1."""
UNIT = 0.04
"""Lattice of the values of a prompt; each is rounded up, what was observed as well."""


def is_skewed(images: Sequence[int]) -> bool:
    """Whether a mean over prompts with these numbers of images rests on few of them.

    Errors are as if of ``(sum 1/n)^2 / sum 1/n^2`` prompts alike.
    """
    variances = 1.0 / np.asarray(images, dtype=np.float64)
    alike = float(variances.sum() ** 2 / (variances**2).sum())
    return 1 < len(variances) <= MOST_PROMPTS and alike < UNEQUAL * len(variances)


class Part(NamedTuple):
    """What one prompt adds to the sum."""

    values: tuple[float, ...]
    """Value of each outcome, whose expectation is at most the bias, for every bias."""
    chances: tuple[tuple[float, ...], ...]
    """Chance of each outcome at bias 0, 1 / STEPS, ..., 1, in rows; several rows of a bias are
    alternatives, and a bias that cannot be has none."""
    steps: tuple[int, ...]
    """Bias of each row, in STEPS."""


@lru_cache(maxsize=1024)
def prompt_part(n: int, share: float, side: Side, prompts: int = SUITE, scale: float = 1.0) -> Part:
    """Return a prompt's part of a sum of scaled distances; from above, of what they lack.

    With a scale of 2 and a share of 1/2 they are biases. What they lack is up to the furthest.
    """
    values = scale * bounding_distance(n, share, side, prompts).value
    furthest, counts = scale * max(share, 1.0 - share), np.arange(n + 1)
    rows, steps = [], []
    for step, used in enumerate(np.linspace(0.0, 1.0, STEPS + 1).tolist()):
        distance = (furthest - used if side == "above" else used) / scale
        for p in (share - distance, share + distance):
            if distance >= 0.0 and -ROUNDING <= p <= 1.0 + ROUNDING:
                rows.append(tuple(scipy.stats.binom.pmf(counts, n, min(max(p, 0.0), 1.0)).tolist()))
                steps.append(step)
    if side == "above":
        values = furthest - values
    return Part(tuple(values.tolist()), tuple(rows), tuple(steps))


def budget_not_rejected(parts: Sequence[Part], outcomes: Sequence[int], error: float) -> float:
    """Return the smallest sum of biases that these outcomes do not reject as the largest possible.

    Returns infinity where every sum is rejected.
    """
    tails = _tails(tuple(sorted(parts)))
    observed = sum(int(_levels(part)[k]) for part, k in zip(parts, outcomes, strict=True))
    p_values = tails.chances[:, observed - tails.least]
    kept = np.flatnonzero(p_values > error)
    return math.inf if not kept.size else max(0, int(kept[0]) - 1) / STEPS


def budget_p_value(parts: Sequence[Part], outcomes: Sequence[int], budget: float) -> float:
    """Return the p-value against "the biases sum to at most the budget", rounded up."""
    tails = _tails(tuple(sorted(parts)))
    observed = sum(int(_levels(part)[k]) for part, k in zip(parts, outcomes, strict=True))
    place = math.ceil(round(budget * STEPS, 9))
    if place < 0:
        return 0.0
    return float(tails.chances[min(place, len(tails.chances) - 1), observed - tails.least])


class _Tails(NamedTuple):
    chances: inputs.Floats
    """Largest chance of a sum of at least ``least + column``, by budget in STEPS."""
    least: int


def _levels(part: Part) -> inputs.Floats:
    return np.ceil(np.array(part.values) / UNIT - 1e-9).astype(np.int64)


@lru_cache(maxsize=64)
def _tails(parts: tuple[Part, ...]) -> _Tails:
    tails, least = np.ones((1, 1)), 0
    for part in parts:
        levels = _levels(part)
        least += int(levels.min())
        shifts, of_outcome = np.unique(levels - levels.min(), return_inverse=True)
        top = int(shifts[-1])
        chances = np.zeros((len(part.steps), len(shifts)))
        np.add.at(chances.T, of_outcome, np.array(part.chances).T)
        budgets, width = tails.shape
        edge = np.ones((budgets, top))
        padded = np.concatenate([edge, tails, 0.0 * edge], axis=1)
        moved = np.stack([padded[:, top - x : top - x + width + top] for x in shifts.tolist()])
        found = (chances @ moved.reshape(len(shifts), -1)).reshape(len(part.steps), budgets, -1)
        most = max(part.steps)
        tails = np.zeros((budgets + most, width + top))
        for step, row in zip(part.steps, found, strict=True):
            here = tails[step : step + budgets]
            np.maximum(here, row, out=here)
        # A budget need not be used up.
        tails = np.maximum.accumulate(tails, axis=0)
    return _Tails(tails, least)
