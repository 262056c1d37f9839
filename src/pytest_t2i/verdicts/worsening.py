"""The worsening between two measurements with intervals, as a verdict against a baseline."""

from __future__ import annotations

import math
from statistics import NormalDist

from pytest_t2i.data import Interval, Limit, MetricInfo
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.measurement import Change

METHOD = "difference of intervals"


def worsening(
    metric: MetricInfo, before: Interval, after: Interval, *, margin: float, level: float
) -> Change:
    """Return by how much a metric worsened between two independent sets of images, with a verdict.

    The standard error of either side is recovered from its interval, by a normal approximation.
    FAIL where the interval of the worsening lies above the margin, PASS where it lies within.

    Args:
        metric: the metric, with its worse direction.
        before: recorded interval.
        after: interval measured now.
        margin: tolerated worsening, at least 0.
        level: one-sided confidence level of the verdict, in (0.5, 1).

    Returns:
        The change, positive for a worsening, with its two-sided interval and the verdict.

    >>> quality = MetricInfo("quality", 0.0, 1.0, "lower", "")
    >>> known, now = Interval(0.9, 0.85, 0.95, 0.95, "", 40), Interval(0.5, 0.4, 0.6, 0.95, "", 40)
    >>> worsening(quality, known, now, margin=0.1, level=0.95).verdict.outcome.value
    'FAIL'
    """
    sign = -1.0 if metric.worse == "lower" else 1.0
    change = sign * (after.estimate - before.estimate)
    reach = NormalDist().inv_cdf(level) * math.hypot(_spread(before), _spread(after))
    two_sided = 2.0 * level - 1.0
    interval = Interval(
        change, change - reach, change + reach, two_sided, METHOD, min(before.n, after.n)
    )
    limit = Limit(metric.name, margin, "largest worsening tolerated")
    verdict = judge.judge(interval, limit, "higher")
    return Change(verdict, interval, "", (), before.estimate, after.estimate)


def _spread(interval: Interval) -> float:
    """Return the standard error behind a two-sided interval, by a normal approximation."""
    reach = NormalDist().inv_cdf((1.0 + interval.level) / 2.0)
    return (interval.high - interval.low) / (2.0 * reach)
