"""Charts for the templates: bars, intervals and limits as positions in percent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting.formatting import (
    REPEATED,
    absent,
    anchor,
    bounds_words,
    counted_beside,
    interval_words,
    metric_words,
    signed,
    tells_others,
)
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.sections import half_width
from pytest_t2i.sections.blocks import worst
from pytest_t2i.verdicts.check import Check


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from a range of values to the width of a chart."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the position of a value in percent, clipped to the chart."""
        share = (value - self.low) / (self.high - self.low)
        return round(100.0 * min(max(share, 0.0), 1.0), 2)

    def span(self, start: float, end: float) -> tuple[float, float]:
        """Return the left end and the width of a range of values, in percent."""
        left, right = sorted((self.at(start), self.at(end)))
        return left, round(right - left, 2)


DIVERGING, UNIT = Scale(-1.0, 1.0), Scale(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Track:
    """The drawing of one row of a chart; positions in percent of its width."""

    label: str
    """Text alternative for screen readers."""
    kind: str = "plain"
    """Colour class: "male", "female", "over" or "plain"."""
    bar: tuple[float, float] | None = None
    """Left end and width."""
    whisker: tuple[float, float] | None = None
    """Ends of the interval."""
    point: float | None = None
    limits: tuple[float, ...] = ()
    reference: float | None = None
    """Value to compare with: the real world's share, the fair-model floor."""
    zero: float | None = None


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A named row of a chart with its value and verdict."""

    name: str
    track: Track
    value: str
    note: str = ""
    outcome: Outcome | None = None
    anchor: str = ""
    id: str = ""
    """Id of the prompt; "" for a row of another kind."""


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of a chart under one heading."""

    name: str
    rows: tuple[ChartRow, ...]
    note: str = ""
    low: str = ""
    """Label of the left end of the scale."""
    high: str = ""
    """Label of the right end of the scale."""
    unit: str = ""
    """Name of the printed numbers."""
    middle: str = ""
    """Label between the ends: the middle of the scale, or the quantity of the scale if the printed
    numbers are of another."""


def bias_groups(record: RunRecord) -> list[Group]:
    """Return a chart of the prompts' scores per axis; [] if the labels are not gender."""
    if tells_others(record):
        return []
    metric = "" if record.lead is None else record.of_prompt(record.lead.metric)
    checks, name = record.checks_of(metric), metric_words(metric)
    return [
        Group(
            axis,
            tuple(_bias_row(p, checks.get(p.id, ()), name) for p in prompts),
            leanings(prompts),
        )
        for axis, prompts in prompts_by_axis(record).items()
    ]


def two_columns(groups: Sequence[Group]) -> list[list[Group]]:
    """Distribute groups over two columns of about the same height; one for a single group."""
    columns: list[list[Group]] = [[], []]
    for group in sorted(groups, key=lambda group: -len(group.rows)):
        min(columns, key=_height).append(group)
    return [column for column in columns if column]


def _height(column: Sequence[Group]) -> int:
    # A heading with its scale is as high as about three rows.
    return sum(len(group.rows) + 3 for group in column)


def prompts_by_axis(record: RunRecord) -> dict[str, list[PromptRecord]]:
    """Return the prompts per axis, from most male to most female; those without a score last."""
    groups: dict[str, list[PromptRecord]] = {}
    for prompt in record.prompts:
        groups.setdefault(prompt.axis.replace("-x-", " \u00d7 "), []).append(prompt)
    for prompts in groups.values():
        prompts.sort(key=_place)
    return groups


def leanings(prompts: Sequence[PromptRecord]) -> str:
    """Return the numbers of prompts by the sign of their score, in words."""
    scores = [p.score.estimate for p in prompts if p.score]
    missing = [absent(p.decided.labels) for p in prompts if p.score is None]
    repeated = missing.count(REPEATED)
    parts = {
        "mostly male": sum(score > 0 for score in scores),
        "mostly female": sum(score < 0 for score in scores),
        "even": sum(score == 0 for score in scores),
        "without a clear image": len(prompts) - len(scores) - repeated,
        f"with {REPEATED}": repeated,
    }
    return ", ".join(f"{count} {word}" for word, count in parts.items() if count)


def _place(prompt: PromptRecord) -> tuple[bool, float, str]:
    score = prompt.score
    return (score is None, -score.estimate if score else 0.0, prompt.id)


def _bias_row(prompt: PromptRecord, checks: Sequence[Check], metric: str) -> ChartRow:
    score = prompt.score
    decided_counts = prompt.decided
    missing = absent(decided_counts.labels)
    counts = counted_beside(prompt) if prompt.counts else ""
    bounds = tuple(DIVERGING.at(sign * c.bound) for c in checks for sign in (-1, 1))
    words = f"{metric} {interval_words(score, instead=missing)}; {counts}"
    if prompt.worst_case is not None:
        words += f"; {bounds_words(prompt.worst_case, 2)} whatever the undetected show"
    track = Track(words, zero=50.0, limits=tuple(dict.fromkeys(bounds)))
    if score is not None:
        track = _bias_track(score, words, track.limits)
    value = signed(score.estimate) if score else missing
    return ChartRow(
        prompt.name,
        track,
        value,
        prompt.text,
        worst(checks),
        anchor(prompt.id),
        prompt.id,
    )


def _bias_track(score: Interval, words: str, limits: tuple[float, ...]) -> Track:
    return Track(
        label=words,
        kind="male" if score.estimate > 0 else "female" if score.estimate < 0 else "plain",
        bar=DIVERGING.span(0.0, score.estimate),
        whisker=(DIVERGING.at(score.low), DIVERGING.at(score.high)),
        point=None if score.estimate else 50.0,
        limits=limits,
        zero=50.0,
    )


def around_zero(reach: float) -> Scale:
    """Return the smallest scale of round numbers, symmetric around 0, that contains ``reach``."""
    half = half_width(reach)
    return Scale(-half, half)
