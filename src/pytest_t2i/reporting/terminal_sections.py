"""The terminal lines of audits' sections: each class of block becomes lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.audit_sections import at_level, cell_text
from pytest_t2i.reporting.wrapping import wrapped
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

COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INCONCLUSIVE: "yellow",
    Outcome.INTERRUPTED: "yellow",
}


def summary_lines(sections: Sequence[Section]) -> Iterator[tuple[str, dict[str, bool]]]:
    """Yield the lines of every block whose level is "summary", each with its colours."""
    for _, blocks in at_level(sections, "summary"):
        for block in blocks:
            outcome = block.outcome if isinstance(block, Paragraph) else None
            markup = {} if outcome is None else {COLOURS[outcome]: True}
            yield from ((line, markup) for line in _lines(block))


def whole_lines(sections: Sequence[Section], width: int) -> Iterator[str]:
    """Yield the lines of whole sections with their titles, for a command that shows them alone.

    Each row of a table becomes a block of lines.
    """
    for section in sections:
        yield from (section.title, "")
        for block in section.blocks:
            lines = _rows(block) if isinstance(block, Table) else [*_lines(block), ""]
            yield from (part for line in lines for part in wrapped(line, width))


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        cells = [cell_text(cell, table.digits, table.style(k)) for k, cell in enumerate(row)]
        others = list(zip(table.columns, cells, strict=True))[table.names :]
        longest = max((len(name) for name, _ in others), default=0)
        yield ": ".join(cells[: table.names])
        yield from (f"  {name:<{longest}}  {cell}" for name, cell in others)
        yield ""


@singledispatch
def _lines(block: Any) -> list[str]:
    raise TypeError(f"expected a block of pytest_t2i.sections, got {block!r}")


@_lines.register(Paragraph)
@_lines.register(Note)
def _(block: Paragraph | Note) -> list[str]:
    return [block.text]


@_lines.register
def _(block: Album) -> list[str]:
    return [f"{block.title}: {len(block.pictures) + block.left_out} pictures"]


@_lines.register(Overlays)
@_lines.register(Plane)
def _(block: Overlays | Plane) -> list[str]:  # noqa: ARG001 - only the page shows them
    return []


@_lines.register
def _(block: CurveChart) -> list[str]:
    return [f"{block.title}: {block.label or block.note}"]


@_lines.register
def _(block: Table) -> list[str]:
    return [
        ", ".join(
            f"{name} {cell_text(cell, block.digits, block.style(k))}"
            for k, (name, cell) in enumerate(zip(block.columns, row, strict=True))
        )
        for row in block.rows
    ]


@_lines.register
def _(block: BarChart) -> list[str]:
    return [f"{block.title}: {_bar(bar, block)}" for bar in block.bars]


def _bar(bar: Bar, chart: BarChart) -> str:
    """Return a bar in words: ``all 0.700 [0.500, 0.900], Detector clip``."""
    more = zip(chart.columns, bar.cells, strict=True)
    parts = [f"{name} {cell_text(cell, chart.digits, chart.form)}" for name, cell in more]
    if bar.score is not None and chart.score:
        parts.insert(0, f"{chart.score} {cell_text(bar.score, chart.digits, chart.form)}")
    if bar.reference is not None and chart.reference:
        parts.insert(0, f"{chart.reference} {cell_text(bar.reference, chart.digits, chart.form)}")
    return ", ".join([f"{bar.name} {cell_text(bar.interval, chart.digits, chart.form)}", *parts])
