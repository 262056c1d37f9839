"""Estimators of contrasts: interval and evidence of bounded values in one arm or in two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pytest_t2i.audits.engine.evidence import IntervalAt, adjusted, inverted
from pytest_t2i.data import Bounds, Direction, Evidence, Interval, MetricInfo
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.gaps import paired_gap_interval
from pytest_t2i.statistics.inversion import absolute_p_value
from pytest_t2i.statistics.means import gap_interval, gap_p_value
from pytest_t2i.statistics.shares import share_by_prompt_interval, share_interval
from pytest_t2i.verdicts.measurement import Family

UnitValues = tuple[np.ndarray, ...]
"""One array of values per arm; NaN where a value is unknown."""
PValues = tuple[float, float]
"""p-values of a value beyond a bound, and within it."""


class Estimator(NamedTuple):
    """How a mean over units, or the difference of two arms' means, is estimated."""

    interval: Callable[[Sequence[UnitValues], float], Interval]
    """(known values, level) -> interval."""
    p_values: Callable[[IntervalAt, float, Direction], PValues] | None = None
    """(interval at a level, bound, what is worse) -> p-values; None for the bounded mean, whose
    p-values need the values themselves."""
    is_paired: bool = False
    """Whether value k of one arm belongs to value k of the other."""
    is_drawn: bool = True
    """Whether the values are drawn at random, so that a few may not show all that is possible."""
    fewest: Callable[[Sequence[UnitValues]], bool] = bool
    """Known values -> whether they are enough for an interval."""


def _counts(units: Sequence[UnitValues], arm: int) -> list[tuple[int, int]]:
    """Return (values of 1, values) of each unit."""
    return [(int(unit[arm].sum()), unit[arm].size) for unit in units]


def _share(units: Sequence[UnitValues], level: float) -> Interval:
    hits, images = zip(*_counts(units, 0), strict=True)
    return share_interval(sum(hits), sum(images), level)


def _share_by_prompt(units: Sequence[UnitValues], level: float) -> Interval:
    return share_by_prompt_interval(*zip(*_counts(units, 0), strict=True), level=level)


def _paired_shares(units: Sequence[UnitValues], level: float) -> Interval:
    first, second = ([unit[arm] > 0 for unit in units] for arm in (0, 1))
    return paired_gap_interval(first, second, level=level)


def _differences(units: Sequence[UnitValues]) -> list[np.ndarray]:
    return [unit[0] - unit[1] if len(unit) > 1 else unit[0] for unit in units]


def _mean(units: Sequence[UnitValues], level: float) -> Interval:
    return gap_interval(_differences(units), level=level)


def _of_share(interval_at: IntervalAt, bound: float, worse: Direction) -> PValues:
    evidence = inverted(interval_at, worse)(bound, 0.0)
    return evidence.beyond or 0.0, evidence.within or 0.0


def _of_size(interval_at: IntervalAt, bound: float, worse: Direction) -> PValues:
    """Return the p-values of a gap's size, with both tails beyond the bound."""
    del worse
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    p_value = partial(absolute_p_value, interval_at, limit)
    return p_value(alternative="greater"), p_value(alternative="less")


def _hold_two_values(units: Sequence[UnitValues]) -> bool:
    return sum(unit[0].size for unit in units) > 1


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType({
    "share": Estimator(_share, _of_share),
    "share by prompt": Estimator(_share_by_prompt, _of_share),
    "paired shares": Estimator(_paired_shares, _of_size, is_paired=True),
    "bounded mean": Estimator(_mean, is_paired=True, fewest=_hold_two_values),
    "mean": Estimator(_mean, is_paired=True, is_drawn=False, fewest=_hold_two_values),
})  # fmt: skip
"""Name -> estimator."""


@dataclass(frozen=True, eq=False)
class Arms:
    """The values of several units in one arm or in two."""

    units: Sequence[UnitValues]
    estimator: Estimator
    metric: MetricInfo
    unknown: tuple[float, float] | None
    """Smallest and largest value that an unknown one may have; None where it is left out."""
    alike: float = 0.0
    """Share of unknown values up to which they are taken to be like the others."""

    @property
    def known(self) -> list[UnitValues]:
        """The known values of units that have some in each arm; of pairs, those known in both."""
        units = []
        for unit in self.units:
            masks = [~np.isnan(arm) for arm in unit]
            if self.estimator.is_paired:
                masks = [np.logical_and.reduce(masks)] * len(unit)
            units.append(tuple(arm[mask] for arm, mask in zip(unit, masks, strict=True)))
        return [unit for unit in units if all(arm.size for arm in unit)]

    def interval(self, level: float) -> Interval | None:
        """Return the interval of the known values; None where they are too few."""
        rows = self.known
        if not self.estimator.fewest(rows):
            return None
        return self.estimator.interval(rows, level)

    def evidence(self, bound: float, level: float) -> Evidence:
        """Return the weaker evidence of both extremes of what the unknown values may be.

        Where 0 lies between the extremes' gaps, there is no evidence of a gap beyond the bound.
        """
        del level
        p_values, extremes = self.p_values(bound), [self.filled(end) for end in (0, 1)]
        if all(extreme is self for extreme in extremes):
            return Evidence(*p_values)
        worst = [extreme.p_values(bound) for extreme in extremes]
        beyond, within = (max(pair) for pair in zip(*worst, strict=True))
        low, high = (extreme.estimate for extreme in extremes)
        if self.metric.worse == "away_from_zero" and low < 0.0 < high:
            beyond = 1.0
        return Evidence(beyond, within, labelled=p_values)

    def p_values(self, bound: float) -> PValues:
        metric, rows = self.metric, self.known
        if self.estimator.p_values is not None:
            interval_at = partial(self.estimator.interval, rows)
            return self.estimator.p_values(interval_at, bound, metric.worse)
        reach = max(-metric.low, metric.high) if self.estimator.is_drawn else math.inf
        p_value = partial(gap_p_value, _differences(rows), bound, reach=reach)
        greater, less = p_value(alternative="greater"), p_value(alternative="less")
        return (less, greater) if metric.worse == "lower" else (greater, less)

    @property
    def estimate(self) -> float:
        """The mean, or the difference of means."""
        return self.estimator.interval(self.known, 0.5).estimate

    def filled(self, end: int) -> Arms:
        """Return the arms with unknown values that move the estimate down (0) or up (1)."""
        missing = [[np.isnan(row) for row in unit] for unit in self.units]
        unknown, images = (
            np.array([[count(row) for row in unit] for unit in missing]) for count in (np.sum, len)
        )
        total, limit = unknown.sum(axis=0), self.alike * images.sum(axis=0)
        is_filled = (unknown > 0) & (total > limit)
        if self.unknown is None or not is_filled.any():
            return self
        values = self.unknown[end], self.unknown[1 - end]
        units = [
            tuple(
                np.where(mask & fill, value, row)
                for row, mask, fill, value in zip(*columns, values, strict=False)
            )
            for columns in zip(self.units, missing, is_filled, strict=True)
        ]
        return replace(self, units=units)

    @property
    def worst_case(self) -> Bounds | None:
        """Bounds of the estimate whatever the unknown values are; None without any."""
        strict = replace(self, alike=0.0)
        unknown = sum(int(np.isnan(arm).sum()) for unit in self.units for arm in unit)
        if not unknown or self.unknown is None:
            return None
        images = sum(arm.size for unit in self.units for arm in unit)
        low, high = (strict.filled(end).estimate for end in (0, 1))
        return Bounds(low, high, unknown / images)


def contrast_family(members: Sequence[Arms], level: float) -> Family:
    intervals = tuple(member.interval(level) for member in members)

    def evidence(bound: float, error_level: float) -> list[Evidence]:
        return adjusted([
            None if interval is None else member.evidence(bound, error_level)
            for member, interval in zip(members, intervals, strict=True)
        ])  # fmt: skip

    return Family(intervals, evidence)
