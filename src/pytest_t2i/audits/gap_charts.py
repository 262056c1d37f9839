"""Charts of gaps: bars around 0 with the limit drawn on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pytest_t2i.data import Interval
from pytest_t2i.sections import Bar, BarChart, half_width
from pytest_t2i.verdicts.check import Check


def gap_bar(name: str, gap: Interval | None, checks: Iterable[Check], **more: Any) -> Bar:
    """Return a gap's bar with the worst verdict of its checks and their limits on both sides."""
    bar = Bar.judged(name, gap, checks, **more)
    return replace(bar, limits=tuple(sign * limit for limit in bar.limits for sign in (-1, 1)))


def gap_chart(title: str, bars: Sequence[Bar], unit: str, **more: Any) -> BarChart:
    """Return a chart of bars on the smallest round scale that holds their intervals and limits."""
    ends = [end for bar in bars if bar.interval for end in (bar.interval.low, bar.interval.high)]
    ends += [limit for bar in bars for limit in bar.limits]
    half = half_width(max(map(abs, ends), default=0.0))
    return BarChart(title, tuple(bars), -half, half, unit, form="signed", **more)
