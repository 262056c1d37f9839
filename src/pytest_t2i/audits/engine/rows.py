"""The rows of an audit, and what follows from them: tables, series and charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pytest_t2i.data import COMPARED, About, Interval, Row, Scalar
from pytest_t2i.sections import Bar, BarChart, Block, Cell, RowChart, half_width
from pytest_t2i.sections.words import p_words

if TYPE_CHECKING:
    from pytest_t2i.verdicts.check import Check
    from pytest_t2i.verdicts.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one audit in one run.

    >>> rows = Rows((Row("gap", "model", "model", 0.1), Row("gap", "nurse", "triplet", 0.4)))
    >>> [row.subject for row in rows.of("gap", "triplet")]
    ['nurse']
    """

    rows: tuple[Row, ...] = ()
    pictures: tuple[Block, ...] = ()
    """Blocks of pictures, which no row holds; known while the run is measured alone."""

    @classmethod
    def measured(cls, items: Iterable[Row | Block]) -> Rows:
        """Return what an audit yields: rows, and blocks of pictures."""
        every = tuple(items)
        rows = tuple(item for item in every if isinstance(item, Row))
        return cls(rows, tuple(item for item in every if not isinstance(item, Row)))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def of(self, metric: str, about: About = "model") -> list[Row]:
        """Return the rows of a metric about subjects of this kind, in order."""
        return [row for row in self.rows if (row.metric, row.about) == (metric, about)]

    def one(self, metric: str, subject: str = "model", **dims: Any) -> Row | None:
        """Return the row of a metric and subject with these dimensions; None without one."""
        matching = (row for row in self.rows if (row.metric, row.subject) == (metric, subject))
        return next((row for row in matching if dims.items() <= row.dims.items()), None)

    @property
    def compared(self) -> list[Row]:
        """What comparisons of models and cards show: values of the model and of its parts."""
        measured = (row for row in self.rows if row.interval is not None or row.absent)
        return [row for row in measured if row.about in COMPARED]

    def series(self) -> dict[str, Interval]:
        """Return what comparisons of models set side by side, by name."""
        return {row.series: row.interval for row in self.compared if row.interval is not None}

    def table(self) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
        """Return columns and cells of all rows; dimensions, counts and facts are columns."""
        parts = ("dims", "counts", "facts")
        named = {
            part: tuple(dict.fromkeys(name for row in self.rows for name in getattr(row, part)))
            for part in parts
        }
        cells: list[tuple[Cell, ...]] = [
            (
                row.metric,
                row.about,
                row.subject,
                *(row.dims.get(name) for name in named["dims"]),
                row.value,
                *(row.counts.get(name) for name in named["counts"]),
                *(row.facts.get(name) for name in named["facts"]),
                row.absent,
            )
            for row in self.rows
        ]
        columns = ("metric", "about", "subject", *named["dims"], "value", *named["counts"],
                   *named["facts"], "absent")  # fmt: skip
        return columns, cells


def row_of_measurement(
    measurement: Measurement, about: About, dims: Mapping[str, Scalar] | None = None, **more: Any
) -> Row:
    """Return the row of what a test compares; ``more`` are its facts and counts.

    >>> from pytest_t2i import Measurement, metrics
    >>> none = Measurement(metrics.INFO["wals"], "nurse", None, absent="one image")
    >>> row_of_measurement(none, "prompt").absent
    'one image'
    """
    value = measurement.interval
    absent = measurement.absent if value is None else ""
    return Row(
        measurement.name, measurement.subject, about, value, dims or {}, **more, absent=absent
    )


class Declared(Protocol):
    """The declaration of a metric, as far as a chart needs it."""

    @property
    def low(self) -> float | None:
        """Smallest possible value; None for an unbounded metric."""

    @property
    def high(self) -> float | None:
        """Largest possible value."""

    @property
    def worse(self) -> str:
        """Direction that is worse."""


def chart_of(
    chart: RowChart,
    rows: Iterable[Row],
    info: Mapping[str, Declared],
    checks: Sequence[Check],
) -> BarChart:
    """Return the bars of a chart of rows, with the limits and verdicts of their checks.

    A metric that is worse away from zero has the smallest round scale around 0 that holds its
    intervals and limits; any other one has its bounds, or those of the values without known bounds.
    Bars begin at 0, or at 0.5 where a metric is worse away from it.
    """
    order = {name: place for place, name in enumerate(chart.subjects)}
    charted = [
        row
        for row in rows
        if row.metric in chart.metrics and row.about == chart.about
        and (not order or row.subject in order)
        and all(row.dims.get(name) == value for name, value in chart.dims)
    ]  # fmt: skip
    charted.sort(key=lambda row: order.get(row.subject, 0))
    metric = info.get(chart.metrics[0])
    is_signed = metric is not None and metric.worse == "away_from_zero" and metric.low != 0.0
    is_folded = metric is not None and metric.worse == "away_from_half"
    middle = HALF if is_folded else 0.0
    folds = middle if is_signed or is_folded else None
    bars = tuple(_bar(row, chart, checks, folds) for row in charted)
    values = [bar.interval for bar in bars if bar.interval is not None]
    ends = [end for value in values for end in (value.low, value.high)]
    ends += [limit for bar in bars for limit in bar.limits]
    low, high = (None, None) if metric is None else (metric.low, metric.high)
    if is_signed:
        high = half_width(max(map(abs, ends), default=0.0))
        low = -high
    elif low is None or high is None or math.isinf(high - low):
        low, high = min([*ends, 0.0]), max([*ends, 1.0])
    high = chart.high if chart.high is not None and chart.high > low else high
    return BarChart(
        chart.title, bars, low, high, chart.unit or chart.metrics[0].replace("_", " "),
        chart.note, chart.digits, chart.level, tuple(map(_heading, chart.columns)),
        form="signed" if is_signed else "", ends=chart.ends, middle=middle,
        reference=_heading(chart.reference),
    )  # fmt: skip


HALF = 0.5


def _heading(name: str) -> str:
    """Return the name of a count or fact as a heading: ``Clear images``."""
    return name.replace("_", " ").capitalize()


def _bar(row: Row, chart: RowChart, checks: Sequence[Check], middle: float | None) -> Bar:
    """Return the bar of a row; limits lie on both sides of ``middle`` if there is one."""
    judged = [check for check in checks if _is_about(check, row)]
    bar = Bar.judged(row.name if len(chart.metrics) == 1 else row.metric, row.interval, judged)
    limits = bar.limits
    if middle is not None:
        limits = tuple(end for limit in limits for end in (2.0 * middle - limit, limit))
    kind = ""
    if middle and row.interval is not None and row.interval.estimate != middle:
        kind = "male" if row.interval.estimate > middle else "female"
    fields: dict[str, Any] = {**row.dims, **row.facts, **row.counts}
    reference = fields.get(chart.reference)
    return Bar(
        bar.name, bar.interval, "", row.absent, limits, bar.outcome,
        reference if isinstance(reference, float) else None,
        cells=tuple(_cell(fields, name) for name in chart.columns), kind=kind,
    )  # fmt: skip


def _cell(known: Mapping[str, Any], name: str) -> Cell:
    """Return a dimension, a fact or a count of a row; a p-value in words."""
    value: Any = known.get(name)
    return p_words(value) if name == "p_value" else value


def _is_about(check: Check, row: Row) -> bool:
    """Return whether a check judged this quantity; a test may have only some of the run's prompts.

    What is worse away from zero, or from a half, is judged folded there.
    """
    from pytest_t2i.verdicts.judge import folded

    same = (check.metric, check.subject, check.against) == (row.metric, row.subject, "limit")
    if not same or row.interval is None or check.interval is None:
        return same and row.interval is check.interval
    ways = (row.interval, abs(row.interval), folded(row.interval, "away_from_half"))
    judged = (check.low, check.high)
    return any((way.low, way.high) == judged for way in ways)
