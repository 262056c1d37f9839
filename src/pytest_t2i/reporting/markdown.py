"""The Markdown summary of a run, for the page of a CI job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

from pytest_t2i.data import Outcome, Undetected
from pytest_t2i.reporting.audit_sections import at_level, table_cell_text, without_empty_columns
from pytest_t2i.reporting.baseline import baseline_sections, whose
from pytest_t2i.reporting.formatting import (
    detector_names,
    early_stopping_words,
    excess_of,
    function_of,
    images_of_labels,
    judged_words,
    sentence,
    side_counts,
    undetected_counts,
)
from pytest_t2i.reporting.hint import hint
from pytest_t2i.reporting.run_facts import (
    TOOL,
    distinct_words,
    hanging_lines,
    how_known,
    label_status,
    looks_words,
    made_images,
    not_compared_words,
    tool_version,
    who_set_limits,
)
from pytest_t2i.reporting.verdict_section import headline
from pytest_t2i.runs.record.picture_paths import portable
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.sections_files import SectionsFile
from pytest_t2i.sections import (
    Album,
    BarChart,
    Cell,
    CurveChart,
    Form,
    Note,
    Overlays,
    Paragraph,
    Plane,
    Section,
    Table,
    Tint,
)
from pytest_t2i.sections.escaping import code, escape, with_code
from pytest_t2i.verdicts.check import Check

MOST_ROWS = 15
"""Largest number of rows of a table; the page has them all."""


def section_lines(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the lines of the blocks that a summary shows."""
    for _, blocks in at_level(sections, "summary", "body"):
        for block in blocks:
            yield from _lines(block)


def whole_lines(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the lines of sections with their titles, for a separate document."""
    for section in sections:
        if lines := list(section_lines([section])):
            yield from (f"## {escape(section.title)}", "", *lines)


@singledispatch
def _lines(block: Any) -> list[str]:
    raise TypeError(f"expected a block of pytest_t2i.sections, got {block!r}")


@_lines.register
def _(block: Paragraph) -> list[str]:
    return [f"{escape(block.text)}{'' if block.text.endswith('.') else '.'}", ""]


@_lines.register
def _(block: Note) -> list[str]:  # noqa: ARG001 - only the page shows notes
    return []


@_lines.register(Album)
@_lines.register(Overlays)
@_lines.register(Plane)
def _(block: Album | Overlays | Plane) -> list[str]:  # noqa: ARG001 - only the page shows them
    return []


@_lines.register
def _(block: CurveChart) -> list[str]:
    text = block.label or block.note
    return [f"{escape(block.title)}: {escape(text)}.", ""] if text else []


@_lines.register
def _(block: Table) -> list[str]:
    block = without_empty_columns(block)
    rows = [
        [_cell(cell, block.digits, block.style(k)) for k, cell in enumerate(row)]
        for row in block.rows
    ]
    return table_lines(block.columns, rows, len(rows) if block.whole else MOST_ROWS)


@_lines.register
def _(block: BarChart) -> list[str]:
    block = without_empty_columns(block)
    title = f"{block.title} ({block.note})" if block.note else block.title
    if block.columns:
        title = block.note or block.title
    reference = (block.reference,) if block.reference else ()
    score = (block.score,) if block.score else ()
    rows = [
        [
            escape(bar.name),
            *(
                _cell(cell, block.digits, block.form)
                for cell in (
                    bar.interval,
                    *(bar.reference for _ in reference),
                    *(bar.score for _ in score),
                    *bar.cells,
                )
            ),
        ]
        for bar in block.bars
    ]
    return table_lines((title, block.unit or "value", *reference, *score, *block.columns), rows)


def _cell(cell: Cell, digits: int, form: Form = "") -> str:
    """Return the text of a cell; only strings are escaped, because they may hold anything."""
    text = table_cell_text(cell, digits, form)
    return escape(text) if isinstance(cell, str | Tint) else text


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], most: int = MOST_ROWS
) -> list[str]:
    """Return a Markdown table and a blank line; [] without rows. Cells must be escaped already."""
    if not rows:
        return []
    lines = list(header(columns))
    lines += [f"| {' | '.join(row)} |" for row in rows[:most]]
    if len(rows) > most:
        lines.append(f"| and {len(rows) - most} more |{' |' * (len(columns) - 1)}")
    return [*lines, ""]


def header(cells: Sequence[str]) -> tuple[str, str]:
    """Return the first two lines of a Markdown table; this function escapes the cells."""
    return f"| {' | '.join(map(escape, cells))} |", "|---" * len(cells) + "|"


MARKS = {
    Outcome.PASS: "✅",
    Outcome.FAIL: "❌",
    Outcome.INCONCLUSIVE: "❔",
    Outcome.INTERRUPTED: "⏸️",
    Outcome.MEASURED: "📏",
}


def render_markdown(
    record: RunRecord,
    beside: Sequence[SectionsFile] = (),
) -> str:
    """Return the run as one page of Markdown; texts of prompts are escaped."""
    record = portable(record)
    tally, sides = record.tally(), side_counts(record.checks)
    title = f"Fairness of {code(record.model)}" if record.model else "Detectors on labelled images"
    because = record.failed_because
    otherwise = [(escape(test), escape(because.get(test, ""))) for test in record.failed_otherwise]
    lines = [
        f"## {MARKS[record.outcome]} {title}: {record.outcome}",
        "",
        f"{escape(headline(record))} {tally[Outcome.PASS]} passed, {tally[Outcome.FAIL]} failed, "
        f"{tally[Outcome.INCONCLUSIVE]} inconclusive{f' ({sides})' if sides else ''}. "
        f"{made(record)}{_known(record)}",
        "",
        *table_lines(("failed without a verdict", "why"), otherwise),
        *([f"{sentence(not_compared_words(record))}.", ""] if record.not_compared else []),
        *_judged(record),
        *(line for file in beside for line in section_lines(file.shown())),
        *section_lines(baseline_sections(record)),
        *section_lines(record.sections),
        *_failures(record),
        *_undetected(record),
        *(f"Next: {with_code(step)}." for step in record.next_steps),
        *([f"Why: {with_code(why)}."] if (why := hint(record, beside)) else []),
    ]
    return "\n".join(lines) + "\n"


def _known(record: RunRecord) -> str:
    """Return sentences on the detector's accuracy, labels, authors of limits and tool version."""
    detectors = record.settings.get("detectors") or ()
    if not (record.model and detectors):
        return ""
    authors, tool = who_set_limits(record), tool_version(record)
    parts = [
        f"Detector {code(detectors[0])}: {escape(how_known(record))}.",
        f"Labels: {escape(label_status(record))}.",
        *([f"Limits set by {escape(authors)}."] if authors else []),
        *([f"Measured by {TOOL} {escape(tool)}."] if tool else []),
    ]
    return f" {' '.join(parts)}"


def made(record: RunRecord) -> str:
    """Return a sentence on how many images were made and how many the store had."""
    stopped = (
        f" {early_stopping_words(record).capitalize()}." if early_stopping_words(record) else ""
    )
    distinct = f" Distinct pictures: {distinct_words(record)}." if record.distinct else ""
    looks = f" Judged before: {looks_words(record)}." if record.looked_at_before else ""
    hanging = "".join(
        f" {escape(sentence(name))}: {escape(line)}." for name, line in hanging_lines(record)
    )
    return f"Images: {made_images(record)}.{distinct}{looks}{stopped}{hanging}"


def _judged(record: RunRecord) -> list[str]:
    """Return the table of the model's checks against limits and the baseline."""
    rows = [
        (name, escape(function_of(check.test)), result, allowed, check.outcome)
        for check in record.checks
        if check.is_of_model
        for name, result, allowed in [judged_cells(check)]
    ]
    table = table_lines(("judged", "by", "result", "allowed", "verdict"), rows, len(rows))
    if record.baseline and table:
        table += [f"The baseline is {escape(whose(record.baseline))}.", ""]
    return table


def judged_cells(check: Check) -> tuple[str, str, str]:
    """Return what was judged, its result and what is allowed, for a table."""
    name, result, allowed = judged_words(check)
    is_number = check.estimate is not None and not check.is_change
    return escape(name), result if is_number else escape(result), escape(allowed)


def _failures(record: RunRecord) -> list[str]:
    failed = [check for check in record.checks if check.outcome is Outcome.FAIL]
    rows = [
        (f"{escape(check.metric)} of {escape(check.subject)}", result, allowed)
        for check in sorted(failed, key=excess_of, reverse=True)
        for _, result, allowed in [judged_cells(check)]
    ]
    return table_lines(("failed", "measured", "allowed"), rows)


def _undetected(record: RunRecord) -> list[str]:
    reasons: Counter[Undetected] = Counter()
    for name in detector_names(record)[:1]:
        reasons = undetected_counts(record, name)
    if not reasons:
        return []
    listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return [f"Undetected: {reasons.total()} of {images_of_labels(record)} ({listed}).", ""]
