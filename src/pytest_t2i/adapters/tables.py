"""CSV tables: read by their headers, and cells that a spreadsheet leaves as they are."""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.errors import FileFormatError, nearest, printable, some
from pytest_t2i.files import FORMULA, NAME, inside
from pytest_t2i.read_files import MARKUP, content_of, read_text


class CsvRow(NamedTuple):
    """One row of a CSV file."""

    where: str
    """Place in the file, such as "line 3"."""
    values: dict[str, str]
    """Cells by column, without surrounding blanks, but names of files as they are; "" where the row
    ends early."""


MOST_LISTED = 50
"""Largest number of columns that a message lists."""
SAVE = 'Save it as "CSV UTF-8", with commas or semicolons between the columns.'


def read_csv(path: Path, needed: Sequence[str], *, remedy: str = "") -> list[CsvRow]:
    """Return the rows of a CSV file in UTF-8 whose header has these columns.

    Commas separate the cells, or semicolons where the header has no comma. Rows without any text
    are left out, and so are blanks around cells. Raises FileFormatError that names the line, and of
    a column that is absent the nearest that is there.
    """
    remedy = " ".join(part for part in (SAVE, remedy) if part)
    text = read_text(path, kind="table", remedy=remedy)
    first = text.lstrip().partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[CsvRow] = []
    columns: list[str] = []
    try:
        for cells in reader:
            where = f"line {reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if columns:
                rows.append(_row(path, columns, cells, where))
            else:
                columns = [cell.strip() for cell in cells]
                _check_header(path, columns, needed, where, remedy)
    except csv.Error as error:
        where = f"line {reader.line_num}"
        raise FileFormatError(path, f"{error}.", where=where, remedy=remedy) from None
    if not columns:
        _check_header(path, columns, needed, "line 1", remedy)
    return rows


def _check_header(
    path: Path, columns: Sequence[str], needed: Sequence[str], where: str, remedy: str
) -> None:
    listed = some(columns, MOST_LISTED) or "none"
    for name in needed:
        if name not in columns:
            if (content := content_of(path)).kind == MARKUP:
                raise FileFormatError(path, f"expected a table, got {content.name}.", remedy=remedy)
            close = nearest(name, columns[:MOST_LISTED])
            meant = f" Is it {close!r}?" if close else ""
            problem = f"no column {name!r}; there are: {listed}.{meant}"
            raise FileFormatError(path, problem, where=where, remedy=remedy)
    titles = [name for name in columns if name]
    if len(set(titles)) < len(titles):
        problem = f"expected distinct names of columns, got: {listed}."
        raise FileFormatError(path, problem, where=where)


def _row(path: Path, columns: Sequence[str], cells: Sequence[str], where: str) -> CsvRow:
    cell_of = dict(zip(columns, cells, strict=False))
    if any(cell.strip() for cell in (*cells[len(columns) :], cell_of.pop("", ""))):
        problem = "more values than columns. Quote texts that hold a comma or a semicolon."
        raise FileFormatError(path, problem, where=where)
    texts = {name: _cell_text(cell_of.get(name, "")) for name in columns if name}
    if name_cell := cell_of.get(NAME):  # a name may begin with a blank or an apostrophe
        texts[NAME] = existing(path.parent, name_cell, name_cell.strip(), texts[NAME])
    return CsvRow(where, texts)


def existing(folder: Path, *names: str) -> str:
    """Return the first of these names that is a file in the folder; the last if none is.

    >>> existing(Path("nowhere"), " a.png", "a.png")
    'a.png'
    """
    earlier = (name for name in names[:-1] if name != names[-1])
    return next((name for name in earlier if inside(folder, name)), names[-1])


def _cell_text(value: str) -> str:
    """Return a cell without outer blanks and the apostrophe against formulas (``escaping.cell``).

    >>> _cell_text(" '=1 "), _cell_text("'tis")
    ('=1', "'tis")
    """
    plain = value.strip()
    return plain[1:] if FORMULA.match(plain) else plain


LITERAL = "literal:"
"""Prefix of a cell that is written as a Python string, as a table would not keep its text: outer
blanks, control characters, bytes of a file's name that are no UTF-8."""


def exact_cell(value: Any, *, printed: bool = False) -> Any:
    r"""Return a value for a table that ``of_cell`` reads as it is, and no spreadsheet computes.

    With ``printed`` the cell has no character that a terminal would obey.

    >>> exact_cell("=1+1"), exact_cell(" a"), exact_cell("a nurse"), exact_cell(3)
    ("'=1+1", "literal:' a'", 'a nurse', 3)
    """
    if not isinstance(value, str):
        return value
    plain = f"'{value}" if value.startswith(("=", "+", "-", "@")) else value
    try:
        plain.encode()
    except UnicodeEncodeError:
        return literal(value)
    is_kept = not {"\r", "\0"}.intersection(plain) and of_cell(_cell_text(plain)) == value
    is_kept = is_kept and not (printed and printable(plain) != plain)
    return plain if is_kept else literal(value)


def printed_cell(value: Any) -> Any:
    """Return the same as ``exact_cell``, for a table that may be printed on a terminal."""
    return exact_cell(value, printed=True)


def literal(text: str) -> str:
    r"""Return a text as a Python string in printable ASCII, which ``of_cell`` reads.

    >>> literal("a\udcff.png")
    "literal:'a\\udcff.png'"
    """
    return f"{LITERAL}{text!a}"


def of_cell(text: str) -> str:
    r"""Return the text of a cell that ``exact_cell`` wrote and ``_cell_text`` read.

    >>> of_cell("literal:' a'"), of_cell("literal: a")
    (' a', 'literal: a')
    """
    if not text.startswith((f"{LITERAL}'", f'{LITERAL}"')):
        return text
    try:
        literal_value = ast.literal_eval(text.removeprefix(LITERAL))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text
    return literal_value if isinstance(literal_value, str) else text
