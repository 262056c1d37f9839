"""The history as a page with a line chart per axis, and as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.data import Interval
from pytest_t2i.files import write_whole
from pytest_t2i.reporting.formatting import interval_text, metric_words, moment, several, signed
from pytest_t2i.reporting.html import rendered
from pytest_t2i.runs.history import PastRun, Series, differing
from pytest_t2i.runs.summaries import first_screens
from pytest_t2i.statistics.change import ChangePoint

WIDTH, HEIGHT, MARGIN = 1000.0, 150.0, 14.0
"""Width, height and margin of a chart, in its own units."""
SHOWN = 20
"""Number of the latest runs of a series that the terminal lists."""


@dataclass(frozen=True, slots=True)
class RunPoint:
    """One run in a chart."""

    x: float
    y: float
    low: float
    high: float
    words: str
    outcome: str
    repeat: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One number over the runs of a series."""

    name: str
    points: tuple[RunPoint, ...]
    path: str
    """The line as an SVG path."""
    changes: tuple[tuple[float, str], ...]
    """(x, description) of each change."""
    last: str
    bottom: str
    top: str


def write_history(series: Sequence[Series], folder: Path) -> None:
    """Write index.html of a history into a folder, atomically."""
    write_whole(folder / "index.html", history_page(series).encode())


def history_page(series: Sequence[Series]) -> str:
    """Return the page of a history: each series with its charts and a table of its runs."""
    rows = [(s, list(series_lines(s)), [_change_clause(s, c) for c in s.changes]) for s in series]
    contents = {
        "series": rows, "moment": moment, "width": WIDTH, "height": HEIGHT, "score": _score_name(),
    }  # fmt: skip
    return rendered("history.html.j2", contents)


def series_lines(series: Series) -> Iterator[Line]:
    """Yield a line for every value that audits follow over the runs."""
    firsts = {screen.metric for screen in first_screens()}
    plain = {metric for audit in installed_audits() for metric in audit.plain_series}
    for name in dict.fromkeys(name for run in series.runs for name in run.series):
        metric, _, part = name.partition("/")
        values = [run.series.get(name) for run in series.runs]
        if metric in firsts and part == "model":
            yield _line("all prompts", values, series, series.changes)
        else:
            yield _line(part if metric in plain else name, values, series, ())


def _line(
    name: str,
    values: Sequence[Interval | None],
    series: Series,
    changes: Sequence[ChangePoint],
) -> Line:
    intervals = [v for v in values if v is not None]
    low, high = (
        min(0.0, *(v.low for v in intervals), 0.0),
        max(0.05, *(v.high for v in intervals), 0.05),
    )
    step = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1)

    def y(value: float) -> float:
        return round(MARGIN + (high - value) / (high - low) * (HEIGHT - 2 * MARGIN), 1)

    def x(place: float) -> float:
        return round(MARGIN + place * step, 1)

    points = tuple(
        RunPoint(
            x(place),
            y(value.estimate),
            y(value.low),
            y(value.high),
            f"{moment(run.created)}, {run.model}: {interval_text(value)}",
            str(run.outcome).lower(),
            series.repeats[place],
        )
        for place, (value, run) in enumerate(zip(values, series.runs, strict=True))
        if value is not None
    )
    path = " ".join(f"{'L' if k else 'M'}{point.x} {point.y}" for k, point in enumerate(points))
    marks = tuple((x(c.run - 0.5), _change_clause(series, c)) for c in changes)
    last = interval_text(intervals[-1]) if intervals else ""
    return Line(name, points, path, marks, last, f"{low:.2g}", f"{high:.2g}")


def _change_clause(series: Series, change: ChangePoint) -> str:
    """Return a clause that describes a change."""
    before, after = series.runs[change.run - 1], series.runs[change.run]
    moved = change.change
    verb = "rose" if moved.estimate > 0 else "fell"
    delay_words = (
        "" if change.seen_at == change.run else f", seen with {_name(series.runs[change.seen_at])}"
    )
    return (
        f"the {_score_name()} {verb} by {abs(moved.estimate):.3f} "
        f"[{signed(moved.low, 3)}, {signed(moved.high, 3)}] between {_name(before)} and "
        f"{_name(after)}{delay_words} (p = {change.p_value:.2g})"
    )


def _score_name() -> str:
    """Return the name of the score whose changes are marked."""
    return next((metric_words(screen.metric) for screen in first_screens()), "score")


def _name(run: PastRun) -> str:
    return f"{run.model} ({moment(run.created)})"


def history_lines(series: Sequence[Series]) -> Iterator[str]:
    """Yield the lines for the terminal."""
    for part in series:
        yield (
            f"{several(len(part.runs), 'run')} of {several(len(part.prompts), 'prompt')}, "
            f"by {part.detector or '-'} (times in UTC)"
        )
        changed = {change.run for change in part.changes}
        hidden = max(0, len(part.runs) - SHOWN)
        if hidden:
            yield f"  ... {hidden} earlier runs: see the report"
        widest = max(len(run.model) for run in part.runs[hidden:])
        for place, run in enumerate(part.runs):
            if place < hidden:
                continue
            score = run.model_score
            number = interval_text(score) if score else f"no {_score_name()}"
            note = " <- changed" if place in changed else " repeat" * part.repeats[place]
            if place and (inputs := differing(part.runs[place - 1].inputs, run.inputs)):
                note += f" ({', '.join(inputs)} changed)"
            at = moment(run.created).removesuffix(" UTC")
            yield f"  {at}  {run.model:<{widest}} {number} {run.outcome}{note}"
        if any(part.repeats[hidden:]):
            yield "repeat: the same images as in an earlier run, no evidence of its own"
        yield from (_change_clause(part, change) for change in part.changes)
        if not part.changes and len(part.runs) > 1:
            yield "no change can be told from chance"
