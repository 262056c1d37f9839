"""The sections of a run's audits, and the text of their cells, for all renderers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from pytest_t2i.data import Bounds, Interval, Outcome
from pytest_t2i.reporting.formatting import percent
from pytest_t2i.sections import Album, BarChart, Block, Cell, Form, Section, Table, Tint

T = TypeVar("T")


def at_level(sections: Iterable[Section], *levels: str) -> Iterator[tuple[Section, list[Block]]]:
    """Yield each section that has blocks of these levels, with these blocks."""
    for section in sections:
        blocks = [block for block in section.blocks if block.level in levels]
        if blocks:
            yield section, blocks


def labelled_pictures(sections: Iterable[Section]) -> list[str]:
    """List the paths of all images in sections that people labelled."""
    blocks = (block for section in sections for block in section.blocks)
    pictures = (p for block in blocks if isinstance(block, Album) for p in block.pictures)
    return [picture.labelled for picture in pictures if picture.labelled is not None]


def table_cell_text(cell: Cell, digits: int, form: Form = "") -> str:
    """Return the text of a cell: ``0.120 [0.080, 0.170]``; a dash for None.

    >>> cells = (Interval(0.12, 0.08, 0.17, 0.95, "", 9), 2), (None, 3), (4, 3)
    >>> tuple(table_cell_text(*cell) for cell in cells)
    ('0.12 [0.08, 0.17]', '-', '4')
    >>> table_cell_text(Bounds(0.2, 0.6, 0.4), 2), table_cell_text(0.25, 2, "percent")
    ('0.20 to 0.60', '25 %')
    """
    return " ".join(filter(None, cell_parts(cell, digits, form)))


def cell_parts(cell: Cell, digits: int, form: Form = "") -> tuple[str, str]:
    """Return the texts of a cell's value and of its interval, "" without an interval.

    >>> cell_parts(Interval(-1.25, -2.0, 0.5, 0.95, "", 9), 3, "signed percent")
    ('-1.2 %', '[-2.0, +0.5]')
    """
    if cell is None:
        return "-", ""
    if isinstance(cell, Interval):
        low, high = (_number(end, digits, form) for end in (cell.low, cell.high))
        return _written(cell.estimate, digits, form), f"[{low}, {high}]"
    if isinstance(cell, Bounds):
        return f"{_number(cell.low, digits, form)} to {_number(cell.high, digits, form)}", ""
    if isinstance(cell, Outcome):
        return cell.value, ""
    if isinstance(cell, bool):
        return "yes" if cell else "no", ""
    return (_written(cell, digits, form) if isinstance(cell, float) else str(cell)), ""


def _written(value: float, digits: int, form: Form) -> str:
    """Return a number with its unit."""
    return f"{_number(value, digits, form)}{' %' * (form in ('signed percent', 'fine percent'))}"


def _number(value: float, digits: int, form: Form) -> str:
    if form == "percent":
        return percent(value)
    if form == "fine percent":
        return f"{100 * value:.1f}"
    if form == "signed percent":
        return f"{value:+.1f}"
    return f"{value:{'+' * (form == 'signed')}.{digits}f}"


Tabular = TypeVar("Tabular", Table, BarChart)
NOTHING = (None, "", "-", "\u2013")


def without_empty_columns(block: Tabular) -> Tabular:
    """Return a table, or a chart with cells, without the columns in which no row has anything.

    >>> table = Table("scores", ("model", "place", "p"), (("a", 1, None), ("b", 2, None)))
    >>> without_empty_columns(table).columns
    ('model', 'place')
    """
    if isinstance(block, BarChart):
        kept = _filled([bar.cells for bar in block.bars])
        bars = tuple(replace(bar, cells=_only(bar.cells, kept)) for bar in block.bars)
        return replace(block, bars=bars, columns=_only(block.columns, kept))
    kept = [*range(block.names), *(k for k in _filled(block.rows) if k >= block.names)]
    rows = tuple(_only(row, kept) for row in block.rows)
    best, styles = _only(block.best, kept), _only(block.styles, kept)
    columns = _only(block.columns, kept)
    return replace(block, columns=columns, rows=rows, best=best, styles=styles)


def _filled(rows: Sequence[Sequence[Cell]]) -> list[int]:
    columns = enumerate(zip(*rows, strict=True))
    return [k for k, column in columns if any(_text(cell) not in NOTHING for cell in column)]


def _text(cell: Cell) -> Cell:
    return cell.text if isinstance(cell, Tint) else cell


def _only(cells: Sequence[T], kept: Sequence[int]) -> tuple[T, ...]:
    return tuple(cells[k] for k in kept if k < len(cells))


def _value_of(cell: Cell) -> float | None:
    """Return the number of a cell; None if it holds none."""
    if isinstance(cell, Interval):
        return cell.estimate
    return float(cell) if isinstance(cell, int | float) else None


def best_rows(column: Sequence[Cell], which: str) -> set[int]:
    """Return the rows with the best value of a column; the set is empty for a single row.

    ``which`` names the best value: "high", "low", or "zero" for the nearest to 0; "" for none.

    >>> best_rows([0.3, 0.9, None], "high"), best_rows([-0.1, 0.3], "zero")
    ({1}, {0})
    """
    values = {
        row: value for row, cell in enumerate(column) if (value := _value_of(cell)) is not None
    }
    if not which or not values or len(column) < 2:  # noqa: PLR2004 - the best of at least two
        return set()
    cost = {"high": lambda x: -x, "low": lambda x: x, "zero": abs}[which]
    least = min(map(cost, values.values()))
    return {row for row, value in values.items() if cost(value) == least}
