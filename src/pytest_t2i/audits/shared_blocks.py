"""What reports of audits show alike: charts of gaps, counts of labels, the largest samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.data import Count, Detection, Interval, Undetected
from pytest_t2i.sections import Bar, BarChart, half_width

if TYPE_CHECKING:
    from pytest_t2i.verdicts.check import Check


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of images per label, and of undetected images per reason."""

    labels: Mapping[str, Count]
    undetected: Mapping[Undetected, Count]


def counts_of(detections: Iterable[Detection]) -> Counts:
    """Count the labels and the reasons of these detections.

    >>> counts_of([Detection("male"), Detection(None, Undetected.NO_FACE)]).labels
    {'male': 1}
    """
    detections = list(detections)
    return Counts(
        dict(Counter(d.label for d in detections if d.label is not None)),
        dict(Counter(d.undetected for d in detections if d.undetected is not None)),
    )


def widest_of(pairs: Iterable[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Return every member once, in order of appearance, with the test that asks for most images."""
    widest: dict[str, tuple] = {}  # type: ignore[type-arg]
    for member, test in pairs:
        name = member.text if hasattr(member, "text") else member.id
        candidate = widest.get(name)
        if candidate is None or candidate[1].images < test.images:
            widest[name] = (member, test)
    return list(widest.values())


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
