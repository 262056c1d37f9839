"""Change points in a series of runs: the model bias score monitored over versions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.change import (
    FEW_PROMPTS,
    FEWEST_IMAGES,
    count_table,
    spread_table,
    table_variance,
)
from pytest_t2i.statistics.shares import check_level

Whole = npt.NDArray[np.int64]
SPENDING = 6.0 / math.pi**2
"""1 / sum of 1 / k^2, the share of the error that is spent at the first look."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The runs between which a series changed."""

    run: int
    """First run after the change, counted from 0."""
    seen_at: int
    """Run with which the change was detected; at or after ``run``."""
    change: Interval
    """Model bias score after minus before, over the runs up to ``seen_at``."""
    p_value: float
    """Two-sided p-value against "all runs so far are of one model", adjusted for looks and cuts."""


def change_points(
    male: npt.ArrayLike, female: npt.ArrayLike, *, level: float = 0.95
) -> list[ChangePoint]:
    """Return the runs at which the model bias score changed, as detected with each new run.

    Runs are scored by ``spread_table``. After every run, those since the last change are cut in two
    in all ways (Bonferroni), the mean scores compared by a normal test with the variance of one
    model, and look k since the last change spends (1 - level) (6 / pi^2) / k^2: so a model that
    never changes has a false alarm with probability at most ``1 - level``, up to the approximation
    (tests/simulations/history.md). Prompts without two clear images in every run are left out.
    """
    men, women = count_table("male", male), count_table("female", female)
    if men.shape != women.shape:
        raise ValueError(f"male and female must be of one shape, got {men.shape} and {women.shape}")
    check_level(level)
    used = (men + women >= FEWEST_IMAGES).all(axis=0)
    if not used.any():
        return []
    men, sizes = men[:, used], (men + women)[:, used]
    fewest, family = sizes.min(axis=0), max(FEW_PROMPTS, int(used.sum()))
    tables = [
        [spread_table(n, least, family) for n, least in zip(row, fewest.tolist(), strict=True)]
        for row in sizes.tolist()
    ]
    means = np.array(
        [
            np.mean([table[k] for table, k in zip(row, counts, strict=True)])
            for row, counts in zip(tables, men.tolist(), strict=True)
        ]
    )
    changes: list[ChangePoint] = []
    start = 0
    for now in range(1, len(men)):
        window = slice(start, now + 1)
        shares = (men[window].sum(axis=0) + 0.5) / (sizes[window].sum(axis=0) + 1.0)
        variances = _variances(tables[window], shares)
        weights = sizes[window].sum(axis=1).astype(np.float64)
        cuts = [
            _cut(means[window], variances, weights, place, len(fewest))
            for place in range(1, now - start + 1)
        ]
        place = min(range(len(cuts)), key=lambda k: cuts[k][0])
        p_value, change = cuts[place]
        spent = p_value * len(cuts) * (now - start) ** 2 / SPENDING
        if spent <= 1.0 - level:
            start += place + 1
            changes.append(ChangePoint(start, now, change, spent))
    return changes


def _variances(tables: Sequence[Sequence[inputs.Floats]], shares: inputs.Floats) -> inputs.Floats:
    """Return the variance of each run's score, if one model with these shares made all runs."""
    by_table: dict[tuple[int, int], float] = {}
    variances = np.zeros(len(tables))
    for run, row in enumerate(tables):
        for prompt, table in enumerate(row):
            key = prompt, len(table)
            if key not in by_table:
                by_table[key] = float(table_variance(table, shares[prompt])[0])
            variances[run] += by_table[key] / len(row) ** 2
    return variances


def _cut(
    means: inputs.Floats, variances: inputs.Floats, images: inputs.Floats, place: int, prompts: int
) -> tuple[float, Interval]:
    """Compare the runs from ``place`` on with those before: p-value, and the change."""
    sides = []
    for runs in (slice(0, place), slice(place, None)):
        weights = images[runs] / images[runs].sum()
        sides.append((float(weights @ means[runs]), float(weights**2 @ variances[runs])))
    (before, variance_before), (after, variance_after) = sides
    change, error = after - before, math.sqrt(variance_before + variance_after)
    half = float(scipy.stats.norm.isf(0.025)) * error
    low, high = max(-1.0, change - half), min(1.0, change + half)
    interval = Interval(change, low, high, 0.95, "fixed-words", prompts)
    return 2.0 * float(scipy.stats.norm.sf(abs(change) / error)), interval
