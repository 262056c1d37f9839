"""Sections of audits on the terminal: what stands at the level of a summary, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

from pytest_t2i.data import Outcome
from pytest_t2i.reporting.audit_sections import at_level, cell_text
from pytest_t2i.sections import Album, Bar, BarChart, Note, Paragraph, Section, Table

COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INCONCLUSIVE: "yellow",
    Outcome.INTERRUPTED: "yellow",
}


def summary_lines(sections: Sequence[Section]) -> Iterator[tuple[str, dict[str, bool]]]:
    """The lines of every block whose level is "summary", each with its colours."""
    for _, blocks in at_level(sections, "summary"):
        for block in blocks:
            outcome = block.outcome if isinstance(block, Paragraph) else None
            markup = {} if outcome is None else {COLOURS[outcome]: True}
            yield from ((line, markup) for line in _lines(block))


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
    """``all 0.700 [0.500, 0.900], Detector clip``."""
    more = zip(chart.columns, bar.cells, strict=True)
    told = [f"{name} {cell_text(cell, chart.digits)}" for name, cell in more]
    if bar.reference is not None and chart.reference:
        told.insert(0, f"{chart.reference} {cell_text(bar.reference, chart.digits)}")
    return ", ".join([f"{bar.name} {cell_text(bar.interval, chart.digits)}", *told])
