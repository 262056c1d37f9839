"""Interval of a mean of values that come in groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.resampling import check_resampling, expanded_tail, percentiles

# Resampling fewer groups covers too little (0.75 instead of 0.95 at three, 0.91 at five);
# Student's t on group sums holds its level there, and from ten on the two agree.
FEW_GROUPS = 10


def mean_interval(
    groups: Sequence[npt.ArrayLike],
    *,
    level: float,
    seed: int,
    bounds: tuple[float, float] | None = None,
    resamples: int = 2000,
) -> Interval:
    """Mean of values grouped by prompt, with an interval by seeded cluster bootstrap.

    Whole groups are resampled, as values of one prompt are alike. A single group is resampled
    value by value: then the interval is for that prompt alone. With fewer than 10 units the
    interval is Student's, on the sums of the units.

    Where the values are bounded, as labels of 0 and 1 are, a handful of groups may all lie near
    one end and show none of the spread there is (coverage 0.89 at ten prompts of Lyu Table 7). With
    ``bounds`` one pseudo-group takes part in the resampling, as likely at either end.

    Args:
        groups: values of each prompt, one array per prompt; empty ones are left out.
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        bounds: smallest and largest possible value; None where there is none.
        resamples: number of bootstrap resamples.

    Returns:
        Interval of the mean of all values; n is the number of groups (of values if one group).

    Raises:
        ValueError: fewer than two values, a value is not finite or outside the bounds, or an
            option is out of range.

    >>> interval = mean_interval([[0.1, 0.2], [0.3], [0.2, 0.2]], level=0.95, seed=0)
    >>> round(interval.estimate, 3), interval.n
    (0.2, 3)
    """
    check_resampling(level, resamples)
    values = [inputs.floats(f"groups[{i}]", group).ravel() for i, group in enumerate(groups)]
    values = [group for group in values if group.size]
    if len(values) == 1:
        values = list(values[0].reshape(-1, 1))
    if len(values) < 2:  # noqa: PLR2004 - one value shows no spread
        raise ValueError(f"groups must hold at least two values, got groups={list(groups)!r}")
    sums = np.array([float(np.sum(group)) for group in values])
    sizes = np.array([group.size for group in values], dtype=np.float64)
    estimate = float(np.sum(sums) / np.sum(sizes))
    chance = np.full(len(values), 1.0 / len(values))
    if bounds is not None:
        for group in values:
            inputs.in_range("groups", group, *bounds)
        size = float(np.median(sizes))
        sums = np.append(sums, [size * end for end in bounds])
        sizes = np.append(sizes, [size, size])
        chance = np.append(np.ones(len(values)), [0.5, 0.5]) / (len(values) + 1.0)
    elif len(values) < FEW_GROUPS:
        low, high = _student(sums, sizes, level)
        return Interval(estimate, low, high, level, "cluster-t", len(values))
    drawn = np.random.default_rng(seed).multinomial(len(values), chance, size=resamples)
    low, high = percentiles((drawn @ sums) / (drawn @ sizes), expanded_tail(len(values), level))
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "cluster-bootstrap", len(values)
    )


def _student(sums: inputs.Floats, sizes: inputs.Floats, level: float) -> tuple[float, float]:
    groups, total = len(sums), float(np.sum(sizes))
    mean = float(np.sum(sums)) / total
    squares = float(np.sum((sums - mean * sizes) ** 2))
    error = math.sqrt(squares * groups / (groups - 1)) / total
    half = float(stats.t.ppf((1.0 + level) / 2.0, groups - 1)) * error
    return mean - half, mean + half
