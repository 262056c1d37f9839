"""The sections of a run's audits, and the text of their cells, for all renderers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_t2i.adapters.registry import brought_by_companion
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.data import Bounds, Interval, Outcome
from pytest_t2i.reporting.formatting import percent
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.sections import Album, Block, Cell, Form, Overlays, Paragraph, Section


def sections_of(record: RunRecord, audits: Sequence[Audit[Any]] | None = None) -> list[Section]:
    """List every section of a run's audits, ordered by place; None takes the installed audits."""
    audits = installed_audits() if audits is None else audits
    sections = [
        section
        for audit in sorted(audits, key=lambda audit: audit.place)
        if (part := record.part(audit.name)) is not None
        for section in audit.sections(part, record)
    ]
    known = {audit.name for audit in audits}
    return [*sections, *_of_absent([name for name in record.audits if name not in known])]


def _of_absent(names: Sequence[str]) -> Iterator[Section]:
    """Yield a section that names the audits of a run that are not installed here."""
    if names:
        installs = sorted({brought_by_companion("audit", name) for name in names} - {""})
        text = f"The run has records of audits that are not installed here: {', '.join(names)}."
        yield Section("Audits that are not shown", (Paragraph(" ".join((text, *installs))),))


def at_level(sections: Iterable[Section], *levels: str) -> Iterator[tuple[Section, list[Block]]]:
    """Yield each section that has blocks of these levels, with these blocks."""
    for section in sections:
        blocks = [block for block in section.blocks if block.level in levels]
        if blocks:
            yield section, blocks


def pictures_in(sections: Iterable[Section]) -> list[str]:
    """List the paths of all pictures in sections."""
    blocks = (block for section in sections for block in section.blocks)
    albums = (block for block in blocks if isinstance(block, Album | Overlays))
    return [p.file for album in albums for p in album.pictures if p.file is not None]


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
