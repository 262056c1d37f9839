"""The history as a page of sections, and as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.files import write_whole
from pytest_t2i.reporting.formatting import (
    interval_text,
    metric_words,
    moment,
    sentence,
    several,
    signed,
)
from pytest_t2i.reporting.html import rendered
from pytest_t2i.reporting.html_blocks import drawn
from pytest_t2i.runs.history import PastRun, Series, differing
from pytest_t2i.runs.summaries import first_screens
from pytest_t2i.sections import Bar, BarChart, CurveChart, Paragraph, Section
from pytest_t2i.sections.blocks import round_end
from pytest_t2i.statistics.change import ChangePoint

SHOWN = 20
"""Number of the latest runs of a series that the terminal lists."""
LEAD = (
    "Runs of the same prompts by the same detector, in order of time. A change is named where the "
    "runs before and after it differ by more than chance allows, over the whole series."
)


def write_history(series: Sequence[Series], folder: Path) -> None:
    """Write index.html of a history into a folder, atomically."""
    write_whole(folder / "index.html", history_page(series).encode())


def history_page(series: Sequence[Series]) -> str:
    """Return the page of a history: a section for each series."""
    contents = {
        "title": "Fairness over versions",
        "kicker": several(sum(len(part.runs) for part in series), "run"),
        "lead": LEAD,
        "audit_sections": drawn([history_section(part) for part in series], Path()),
    }
    return rendered("page.html.j2", contents)


def history_section(series: Series) -> Section:
    """Return the section of a series: what changed, its runs, and what else audits follow."""
    changes = [Paragraph(f"{sentence(_change_clause(series, c))}.") for c in series.changes]
    if not changes and len(series.runs) > 1:
        changes = [Paragraph("No change can be told from chance.")]
    return Section(
        f"{several(len(series.runs), 'run')} of {several(len(series.prompts), 'prompt')} by "
        f"{series.detector or '-'}",
        (*changes, _runs_chart(series), *_curves(series)),
    )


def _runs_chart(series: Series) -> BarChart:
    """Return the runs with the score that reports show first, and their verdicts."""
    changed = {change.run for change in series.changes}
    bars = tuple(
        Bar(
            f"{moment(run.created)}, {run.model}",
            run.model_score,
            absent="" if run.model_score else f"no {_score_name()}",
            outcome=run.outcome,
            cells=(
                run.images,
                "changed" if place in changed else "same images" if repeats else "",
            ),
        )
        for place, (run, repeats) in enumerate(zip(series.runs, series.repeats, strict=True))
    )
    high = round_end([bar.interval for bar in bars], (0.05, 0.1, 0.2, 0.5, 1.0))
    name = sentence(_score_name())
    columns = ("Images per prompt", "Against the run before")
    return BarChart(name, bars, 0.0, high, name, "Run", columns=columns)


def _curves(series: Series) -> Iterator[CurveChart]:
    """Yield a curve for every other value that audits follow, over the runs that have it."""
    firsts = {screen.metric for screen in first_screens()}
    plain = {metric for audit in installed_audits() for metric in audit.plain_series}
    for name in dict.fromkeys(name for run in series.runs for name in run.series):
        metric, _, part = name.partition("/")
        if metric in firsts and part == "model":
            continue
        runs = [run for run in series.runs if name in run.series]
        values = [run.series[name] for run in runs]
        low, high = (tuple(getattr(value, end) for value in values) for end in ("low", "high"))
        yield CurveChart(
            part if metric in plain else name,
            tuple(value.estimate for value in values),
            min(0.0, *low),
            max(0.05, *high),
            f"{several(len(runs), 'run')}, last {interval_text(values[-1])}",
            f"from {_name(runs[0])} to {_name(runs[-1])}",
            (low, high),
            first=moment(runs[0].created),
            last=moment(runs[-1].created),
        )


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
