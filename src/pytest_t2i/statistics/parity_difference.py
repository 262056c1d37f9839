"""Gap between the largest and the smallest share among groups of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import checks
from pytest_t2i.statistics.means import mean_interval
from pytest_t2i.statistics.resampling import check_resampling
from pytest_t2i.statistics.shares import clopper_pearson

Group = Sequence[npt.ArrayLike]
"""Images of each prompt of a group: 1 where an image has the outcome, else 0."""


def parity_difference_interval(
    groups: Mapping[str, Group], *, level: float, seed: int, resamples: int = 2000
) -> Interval:
    """Demographic parity difference with an interval.

    From intervals of all groups' shares that hold together (``parity_shares``): the groups that are
    extreme in the sample need not be so in truth. A group without images may have any share.

    Args:
        groups: per group the images of each of its prompts, 1 with the outcome and 0 without.
        level: confidence level in (0, 1).
        seed: seed of the resampling of prompts.
        resamples: number of bootstrap resamples.

    Returns:
        Interval in [0, 1]; n is the number of prompts with an image.

    Raises:
        ValueError: fewer than two groups have an image, a value is neither 0 nor 1, or an option
            is out of range.

    >>> groups = {"a": [[1] * 20], "b": [[0] * 20]}
    >>> print(parity_difference_interval(groups, level=0.95, seed=0))
    1.000 [0.606, 1.000]
    """
    found = parity_shares(groups, level=level, seed=seed, resamples=resamples)
    known = [one.estimate for one in found.values() if one.n]
    if len(known) < 2:  # noqa: PLR2004 - one group has no difference
        raise ValueError(f"at least two groups must have an image, got {len(known)}")
    low, high = widest_gap(
        [one.low for one in found.values()], [one.high for one in found.values()]
    )
    estimate = max(known) - min(known)
    prompts = sum(np.size(one) > 0 for group in groups.values() for one in group)
    return Interval(estimate, low, high, level, "bonferroni", int(prompts))


def parity_shares(
    groups: Mapping[str, Group], *, level: float, seed: int, resamples: int = 2000
) -> dict[str, Interval]:
    """Share of the outcome in each group, with intervals that hold together (Bonferroni).

    Prompts are the clusters (``mean_interval``); a group of one prompt has the exact interval of
    that prompt, and one without an image [0, 1] with n = 0.

    Args:
        groups: as in ``parity_difference_interval``.
        level: confidence level of all intervals together.
        seed: seed of the resampling of prompts.
        resamples: number of bootstrap resamples.

    Returns:
        Interval per group, in the order given.

    Raises:
        ValueError: there is no group, a value is neither 0 nor 1, or an option is out of range.

    >>> found = parity_shares({"a": [[1] * 20], "b": []}, level=0.95, seed=0)
    >>> print(found["a"], found["b"])
    1.000 [0.803, 1.000] 0.500 [0.000, 1.000]
    """
    check_resampling(level, resamples)
    if not groups:
        raise ValueError("groups must hold at least one group, got none")
    each = 1.0 - (1.0 - level) / len(groups)
    return {name: _share(name, group, each, seed, resamples) for name, group in groups.items()}


def widest_gap(low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Least and largest difference of two groups' shares that lie in these intervals.

    >>> widest_gap([0.5, 0.0], [0.75, 0.25])
    (0.25, 0.75)
    """
    lows, highs = checks.floats("low", low), checks.floats("high", high)
    reach = highs[:, None] - lows[None, :]
    np.fill_diagonal(reach, 0.0)
    return max(0.0, float(lows.max() - highs.min())), float(np.clip(reach.max(), 0.0, 1.0))


def _share(name: str, group: Group, level: float, seed: int, resamples: int) -> Interval:
    prompts = [checks.booleans(f"groups[{name!r}]", one).reshape(-1) for one in group]
    prompts = [one for one in prompts if one.size]
    if not prompts:
        return Interval(0.5, 0.0, 1.0, level, "none", 0)
    if len(prompts) == 1:
        return clopper_pearson(int(prompts[0].sum()), prompts[0].size, level)
    found = mean_interval(
        [one.astype(float) for one in prompts],
        level=level, seed=seed, bounds=(0.0, 1.0), resamples=resamples,
    )  # fmt: skip
    return Interval(
        found.estimate, max(0.0, found.low), min(1.0, found.high), level, found.method, found.n
    )
