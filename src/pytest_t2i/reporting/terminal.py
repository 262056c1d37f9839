"""The summary of a run for the terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

from pytest_t2i.data import Outcome
from pytest_t2i.files import from_here
from pytest_t2i.generation.heartbeat import clock_time
from pytest_t2i.reporting.audit_sections import at_level, table_cell_text
from pytest_t2i.reporting.baseline import counts_words, moved_prompts, whose
from pytest_t2i.reporting.formatting import (
    chance_words,
    change_words,
    detector_names,
    early_stopping_words,
    excess_of,
    images_of_labels,
    judged_words,
    metric_words,
    several,
    side_counts,
    side_of,
    undetected_counts,
    unreasoned,
    wrapped,
)
from pytest_t2i.reporting.hint import hint
from pytest_t2i.reporting.run_facts import (
    distinct_words,
    failed,
    hanging_lines,
    looks_words,
    made_images,
    not_compared_words,
    paid,
    tried,
)
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections import (
    Album,
    Bar,
    BarChart,
    CurveChart,
    Note,
    Overlays,
    Paragraph,
    Plane,
    Section,
    Table,
)
from pytest_t2i.sections.escaping import line
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.measurement import MovedPrompt

COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INCONCLUSIVE: "yellow",
    Outcome.INTERRUPTED: "yellow",
    Outcome.MEASURED: "cyan",
}


def summary_lines(sections: Sequence[Section]) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield the lines of every block whose level is "summary", each with its colours."""
    for _, blocks in at_level(sections, "summary"):
        for block in blocks:
            outcome = block.outcome if isinstance(block, Paragraph) else None
            markup = {} if outcome is None else {COLOURS[outcome]: True}
            yield from ((line, markup) for line in _section_lines(block))


def terminal_lines(sections: Sequence[Section], width: int) -> Iterator[str]:
    """Yield the lines of whole sections with their titles, for a command that shows them alone."""
    for section in sections:
        yield from (section.title, "")
        for block in section.blocks:
            lines = _rows(block) if isinstance(block, Table) else [*_section_lines(block), ""]
            yield from (part for line in lines for part in wrapped(line, width))


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = [table_cell_text(cell, table.digits, table.style(k)) for k, cell in enumerate(row)]
        pairs = list(zip(table.columns, cells, strict=True))[table.names :]
        longest = max((len(name) for name, _ in pairs), default=0)
        yield ": ".join(cells[: table.names])
        yield from (f"  {name:<{longest}}  {cell}" for name, cell in pairs)
        yield ""


@singledispatch
def _section_lines(block: Any) -> list[str]:
    raise TypeError(f"expected a block of pytest_t2i.sections, got {block!r}")


@_section_lines.register(Paragraph)
@_section_lines.register(Note)
def _(block: Paragraph | Note) -> list[str]:
    return [block.text]


@_section_lines.register
def _(block: Album) -> list[str]:
    return [f"{block.title}: {len(block.pictures) + block.left_out} pictures"]


@_section_lines.register(Overlays)
@_section_lines.register(Plane)
def _(block: Overlays | Plane) -> list[str]:  # noqa: ARG001 - only the page shows them
    return []


@_section_lines.register
def _(block: CurveChart) -> list[str]:
    return [f"{block.title}: {block.label or block.note}"]


@_section_lines.register
def _(block: Table) -> list[str]:
    return [
        ", ".join(
            f"{name} {table_cell_text(cell, block.digits, block.style(k))}"
            for k, (name, cell) in enumerate(zip(block.columns, row, strict=True))
        )
        for row in block.rows
    ]


@_section_lines.register
def _(block: BarChart) -> list[str]:
    return [f"{block.title}: {_bar(bar, block)}" for bar in block.bars]


def _bar(bar: Bar, chart: BarChart) -> str:
    """Return a bar in words: ``all 0.700 [0.500, 0.900], Detector clip``."""
    more = zip(chart.columns, bar.cells, strict=True)
    parts = [f"{name} {table_cell_text(cell, chart.digits, chart.form)}" for name, cell in more]
    if bar.score is not None and chart.score:
        parts.insert(0, f"{chart.score} {table_cell_text(bar.score, chart.digits, chart.form)}")
    if bar.reference is not None and chart.reference:
        parts.insert(
            0, f"{chart.reference} {table_cell_text(bar.reference, chart.digits, chart.form)}"
        )
    return ", ".join(
        [f"{bar.name} {table_cell_text(bar.interval, chart.digits, chart.form)}", *parts]
    )


SHOWN = 3
"""Number of failures that are named; the page has them all."""
ANSWERED = 10
"""Number of lines for the verdict, the worst checks and the next steps together."""


def summarise(
    record: RunRecord,
    settings: Settings,
    writer: Any,
    *,
    width: int | None = None,
) -> None:
    """Print the summary of a run: the verdict, the worst checks, the next steps and counts."""
    writer.section(line(record.title), sep="=")
    for text, markup in _lines(record, width, record.sections):
        for part in wrapped(line(text), width):
            writer.write_line(part, **markup)
    # Paths are not broken, so that a terminal can open them on a click.
    writer.write_line(line(f"report: {from_here(settings.report / 'index.html')}"))
    if settings.save_baseline is not None:
        recorded = from_here(settings.save_baseline)
        writer.write_line(line(f"baseline: {recorded}"))
        writer.write_line(line(f"next: with another version: {_compared_with(recorded, record)}"))


SAVE = re.compile(r"--(t2i-)?save-baseline([ =])")


def _compared_with(baseline: Path, record: RunRecord) -> str:
    """Return the command of a run that compares with the baseline that this one recorded.

    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> provenance = {"command": "pytest a --t2i-save-baseline b.json -q"}
    >>> typed = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, provenance, {})
    >>> _compared_with(Path("b.json"), typed), _compared_with(Path("b.json"), run)
    ('pytest a --t2i-baseline b.json -q', 'pytest --t2i-baseline b.json')
    """
    command = str(record.provenance.get("command") or "pytest")
    command, count = SAVE.subn(r"--\1baseline\2", command)
    return command if count else f"{command} --t2i-baseline {shlex.quote(str(baseline))}"


def summary_text(record: RunRecord, width: int) -> str:
    """Return the summary as one text without colours."""
    lines = (text for text, _ in _lines(record, width, record.sections))
    texts = [record.title, *lines]
    return "\n".join(part for text in texts for part in wrapped(line(text), width))


def _lines(
    record: RunRecord, width: int | None, sections: Sequence[Section]
) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield each line with pytest's markup for its colours."""
    # The first ten lines of 80 columns hold the verdict, the worst checks and the next steps.
    head, worst = f"{record.outcome}: {headline(record)}", list(_worst(record))
    yield head, {COLOURS[record.outcome]: True, "bold": True}
    yield from ((line, {"red": True}) for line in worst)
    room = ANSWERED - sum(len(wrapped(line, width)) for line in (head, *worst))
    yield from ((line, {}) for line in _next(record, room, width))
    if advice := hint(record):
        yield f"why: {advice}", {}
    yield _tally(record), {}
    if words := not_compared_words(record):
        yield words, {"yellow": True}
    yield from ((line, {}) for line in _of_model(record))
    yield from ((line, {"yellow": True}) for line in _unreasoned(record))
    yield from summary_lines(sections)
    for name, words in hanging_lines(record):
        yield f"{name}: {words}", {"yellow": "depends on" in words}
    if undetected := _undetected(record):
        yield undetected, {}
    yield _work(record), {}
    if words := distinct_words(record):
        repeats = (
            record.distinct is not None and record.distinct.distinct < record.distinct.pictures
        )
        yield f"distinct pictures: {words}", {"yellow": repeats}
    if looks := looks_words(record):
        yield f"judged before: {looks}", {"yellow": True}


def _next(record: RunRecord, room: int, width: int | None) -> Iterator[str]:
    """Yield the first next step, and further ones that fit into ``room`` lines."""
    for number, step in enumerate(record.next_steps):
        text = f"next: {step}"
        room -= len(wrapped(text, width))
        if number and room < 0:
            return
        yield text


def _tally(record: RunRecord) -> str:
    """Return the numbers of checks by outcome."""
    tally, sides = record.tally(), side_counts(record.checks)
    inconclusive = f" ({sides})" if sides else ""
    return (
        f"checks: {tally[Outcome.PASS]} passed, {tally[Outcome.FAIL]} failed, "
        f"{tally[Outcome.INCONCLUSIVE]} inconclusive{inconclusive}{_otherwise(record)}"
    )


def _of_model(record: RunRecord) -> Iterator[str]:
    """Yield the model's checks against limits and the baseline."""
    for check in record.checks:
        is_score = check.is_of_model and bool(record.of_prompt(check.metric))
        if is_score and check.against == "limit" and check.estimate is not None:
            yield _judged(check)
    yield from _compared(record)


def _unreasoned(record: RunRecord) -> Iterator[str]:
    """Yield a line about limits without a reason."""
    metrics = dict.fromkeys(check.metric for check in record.checks if unreasoned(check))
    if metrics:
        yield f"limits without a person's reason: {', '.join(metrics)} (say why in limits.toml)"


def _compared(record: RunRecord) -> Iterator[str]:
    """Yield the model's checks against the baseline, and the prompts that probably moved."""
    recorded = record.baseline
    worst_checks = _worst_checks(record)[:SHOWN]
    for check in record.checks:
        if check.is_change and check.is_of_model and check not in worst_checks:
            source = f" of {whose(recorded)}" if recorded and check.against == "baseline" else ""
            yield (
                f"{metric_words(check.metric)} against the {check.against}{source}: {_grown(check)}"
            )
    moved = moved_prompts(record)
    if moved:
        prompt_words = "; ".join(_moved(prompt) for prompt in moved[:SHOWN])
        more = f"; and {len(moved) - SHOWN} more" if len(moved) > SHOWN else ""
        yield f"probably more biased than recorded: {prompt_words}{more}"


def _moved(prompt: MovedPrompt) -> str:
    sure = "" if prompt.probability is None else f" {prompt.probability:.2f}"
    return f"{prompt.id}{sure} ({counts_words(prompt.before)} -> {counts_words(prompt.after)})"


def _judged(check: Check) -> str:
    """Return a judged score of the model with its limit."""
    chance = f" ({chance_words(check)})" if check.paper is not None else ""
    name, result, _ = judged_words(check)
    limit = f"allowed {check.operator} {check.bound:g}"
    return f"{name} {result}, {limit}, {several(check.n, 'prompt')}{chance}"


def _worst_checks(record: RunRecord) -> list[Check]:
    """Return the failed checks, else the open ones estimated beyond; those of the model first."""
    failed = [check for check in record.checks if check.outcome is Outcome.FAIL]
    beyond = [check for check in record.checks if side_of(check) == "beyond"]
    return sorted(failed or beyond, key=lambda c: (not c.is_of_model, -excess_of(c)))


def _worst(record: RunRecord) -> Iterator[str]:
    """Yield the worst checks, and the tests that failed without a verdict."""
    worst = _worst_checks(record)
    if worst:
        total = f" of {len(worst)}" if len(worst) > SHOWN else ""
        failed = worst[0].outcome is Outcome.FAIL
        yield f"worst{total}:" if failed else f"worst{total}, not decided:"
    yield from (_failure(check) for check in worst[:SHOWN])
    for test in record.failed_otherwise[:SHOWN]:
        why = record.failed_because.get(test, "")
        yield f"  failed without a verdict: {test}{f' ({why})' if why else ''}"
    if len(record.failed_otherwise) > SHOWN:
        yield f"  and {len(record.failed_otherwise) - SHOWN} more without a verdict"


def _otherwise(record: RunRecord) -> str:
    count = len(record.failed_otherwise)
    return f", {count} test{'s'[: count > 1]} failed without a verdict" if count else ""


def _undetected(record: RunRecord) -> str:
    missing = sum(undetected_counts(record, name).total() for name in detector_names(record)[:1])
    return f"undetected: {missing} of {images_of_labels(record)}" if missing else ""


def _failure(check: Check) -> str:
    if check.is_change:
        since = " since the anchor (first baseline)" if check.against == "anchor" else ""
        return f"  {check.metric} of {check.subject}{since}: {_grown(check)}"
    return (
        f"  {check.metric} of {check.subject}: {check.estimate:+.3f} "
        f"[{check.low:+.3f}, {check.high:+.3f}], allowed {check.operator} {check.bound:g}"
    )


def _grown(check: Check) -> str:
    """Return a change with its values before and after, interval, p-value and margin."""
    p_value = "" if check.p_value is None else f", p = {check.p_value:.2g}"
    allowed = f", allowed +{check.bound:g}" if check.decided_by == "margin" else ""
    return f"{change_words(check)}{p_value}{allowed}"


def _work(record: RunRecord) -> str:
    work = record.done
    rate = f" ({clock_time(work.seconds)})"
    refused = f", {work.refused} refused" if work.refused else ""
    unreadable = f", {work.unreadable} unreadable" if work.unreadable else ""
    stopped = [early_stopping_words(record)] if early_stopping_words(record) else []
    notes = "".join(f"; {note}" for note in [*stopped, *work.notes])
    costs = [tried(record), failed(record), paid(record)]
    cost = "".join(f"; {words}" for words in costs if words)
    return f"images: {made_images(record, rate)}{refused}{unreadable}{cost}{notes}"
