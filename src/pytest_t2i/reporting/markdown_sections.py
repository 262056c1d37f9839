"""The Markdown of audits' sections: each class of block becomes lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

from pytest_t2i.adapters.support.escaping import escape
from pytest_t2i.reporting.audit_sections import at_level, cell_text
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
)

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
        yield from (f"## {escape(section.title)}", "", *section_lines([section]))


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
    rows = [
        [_cell(cell, block.digits, block.style(k)) for k, cell in enumerate(row)]
        for row in block.rows
    ]
    return table_lines(block.columns, rows, len(rows) if block.whole else MOST_ROWS)


@_lines.register
def _(block: BarChart) -> list[str]:
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
    text = cell_text(cell, digits, form)
    return escape(text) if isinstance(cell, str) else text


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
