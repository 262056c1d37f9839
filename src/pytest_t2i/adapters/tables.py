"""CSV tables: read by their headers, and cells that a spreadsheet leaves as they are."""

from __future__ import annotations

import ast
import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_t2i.errors import (
    FileFormatError,
    nearest,
    printable,
    some,
)
from pytest_t2i.files import FORMULA, NAME, inside
from pytest_t2i.reading import (
    MARKUP,
    check_is_text,
    content_of,
    one_kind_of_breaks,
    read_bytes,
    read_text,
)


class CsvRow(NamedTuple):
    """One row of a CSV file."""

    where: str
    """Place in the file, such as "line 3"."""
    values: dict[str, str]
    """Cells by column, without surrounding blanks, but names of files as they are; "" where the row
    ends early."""


class CsvTable(NamedTuple):
    """A CSV file whose columns have the names that were looked for."""

    rows: list[CsvRow]
    form: tuple[str, ...]
    """How the file differs from UTF-8 with commas and these names of columns, in words."""


DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Separators of cells that spreadsheets write, and their names."""
SEPARATOR_LINE = re.compile(r"sep=([,;|\t])\s*")
"""First line with which a spreadsheet says its separator."""
MOST_LISTED = 50
"""Largest number of columns that a message lists."""
CLOSED = re.compile(r'("(?:[^"]|"")*+"?)(?:[ \t]++(?=[,;|\t\r\n]|$))?')
"""A quoted cell, and blanks between its last quote and the separator."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
"""Byte order marks, their encodings, and the names of those that are not UTF-8."""


def read_csv(path: Path, needed: Sequence[str], *, remedy: str = "") -> Iterator[CsvRow]:
    """Yield the rows of a CSV file in UTF-8, with commas and a header with these columns.

    Rows without any text are left out, and so are blanks around cells. Raises FileFormatError that
    names the line, and of a column that is absent the nearest that is there.
    """
    records = _records(path, read_text(path, remedy=remedy), ",")
    line, header, _ = records[0] if records else _Record(1, [], [])
    _Headers(path, needed, needed, {}, remedy).check(header, f"line {line}")
    yield from (_row(path, header, ",", record) for record in records[1:])


def read_table(
    path: Path,
    needed: Sequence[str],
    *,
    optional: Sequence[str] = (),
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    remedy: str = "",
) -> CsvTable:
    """Read a CSV file as spreadsheets and people write it.

    The header decides which of DELIMITERS separates the cells. Its names may differ in case, blanks
    and underscores. Rows without any text are left out, and so are blanks around cells.

    Args:
        path: path of the file.
        needed: names of columns that the header must have.
        optional: names of further columns that are looked for.
        aliases: other names that a column may have.
        remedy: text appended to messages about the file and its header.

    Raises:
        FileFormatError: a column is absent or ambiguous, or a row is malformed (file, line).
    """
    text, encoding = read_encoded(path, remedy=remedy, guess=True)
    first = SEPARATOR_LINE.match(text)
    skipped = 0 if first is None else first[0].count("\n")
    text = text if first is None else text[first.end() :]
    tables = _Headers(path, (*needed, *optional), needed, aliases, remedy)
    delimiter = first[1] if first else tables.delimiter(text)
    records = [each._replace(line=each.line + skipped) for each in _records(path, text, delimiter)]
    if not records:
        tables.check([])
    (line, header, _), *others = records
    columns = tables.named(header, f"line {line}")
    rows = [_row(path, columns, delimiter, record) for record in others]
    renamed = [
        f"{old!r} as {new!r}" for old, new in zip(header, columns, strict=False) if old != new
    ]
    form = (
        *([f"in {encoding}"] if encoding else ()),
        *([f"separated by {DELIMITERS[delimiter]}"] if delimiter != "," else ()),
        *([f"with {', '.join(renamed)}"] if renamed else ()),
    )
    return CsvTable(rows, form)


def named_alike(
    path: Path,
    row: Mapping[str, Any],
    known: Sequence[str],
    aliases: Mapping[str, Sequence[str]],
    where: str,
) -> dict[str, Any]:
    """Return a table of a JSON file with the known names in place of their variants.

    Raises FileFormatError for two keys that may both be a known one.
    """
    columns = _Headers(path, known, (), aliases, "").renamed(list(row), where)
    return dict(zip(columns, row.values(), strict=True))


@dataclass(frozen=True, slots=True)
class _Headers:
    """The columns that are looked for in the header of one file."""

    path: Path
    known: Sequence[str]
    needed: Sequence[str]
    aliases: Mapping[str, Sequence[str]]
    remedy: str

    def delimiter(self, text: str) -> str:
        """Return the separator that gives the needed columns, else the one that gives most."""
        headers = {mark: _first_row(text, mark) for mark in DELIMITERS}
        for mark, header in headers.items():
            plain = {_plain(cell) for cell in header}
            if all(plain & self._names(name) for name in self.needed):
                return mark
        return max(headers, key=lambda mark: len(headers[mark]))

    def _names(self, name: str) -> set[str]:
        return {_plain(each) for each in (name, *self.aliases.get(name, ()))}

    def named(self, header: Sequence[str], where: str) -> list[str]:
        """Return the header with the names that are looked for, in place of their variants."""
        columns = self.renamed(header, where)
        self.check(columns, where)
        return columns

    def renamed(self, header: Sequence[str], where: str) -> list[str]:
        """Return the same, whatever columns are absent."""
        columns = list(header)
        for name in self.known:
            if name in columns:
                continue
            found = [place for place, cell in enumerate(columns) if self._means(cell, name)]
            if len(found) > 1:
                names = " and ".join(repr(columns[place]) for place in found)
                problem = f"the columns {names} may both be {name!r}."
                raise FileFormatError(self.path, problem, where=where, remedy="Rename one of them.")
            for place in found:
                columns[place] = name
        return columns

    def _means(self, cell: str, name: str) -> bool:
        return cell not in self.known and _plain(cell) in self._names(name)

    def check(self, columns: Sequence[str], where: str = "line 1") -> None:
        """Raise FileFormatError unless the needed columns are there, each once."""
        listed = some(columns, MOST_LISTED) or "none"
        for name in self.needed:
            if name not in columns:
                if (content := content_of(self.path)).kind == MARKUP:
                    problem = f"expected a table, got {content.name}."
                    raise FileFormatError(self.path, problem, remedy=self.remedy)
                close = nearest(name, columns[:MOST_LISTED])
                meant = f" Is it {close!r}?" if close else ""
                problem = f"no column {name!r}; there are: {listed}.{meant}"
                raise FileFormatError(self.path, problem, where=where, remedy=self.remedy)
        titles = [name for name in columns if name]
        if len(set(titles)) < len(titles):
            problem = f"expected distinct names of columns, got: {listed}."
            raise FileFormatError(self.path, problem, where=where)


def _plain(name: str) -> str:
    """Return a name of a column without case, blanks, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", name).casefold()


def _first_row(text: str, delimiter: str) -> list[str]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        return next((row for row in reader if any(cell.strip() for cell in row)), [])
    except csv.Error:
        return []


class _Record(NamedTuple):
    """One row of a CSV file."""

    line: int
    cells: list[str]
    """Without outer blanks."""
    exact: Sequence[str]
    """The cells as they are written."""


def _records(path: Path, text: str, delimiter: str) -> list[_Record]:
    """Return every row that is not blank."""
    try:
        return _parsed(path, text, delimiter)
    except FileFormatError:
        tidy = CLOSED.sub(r"\1", text)
        if tidy == text:
            raise
        return _parsed(path, tidy, delimiter)


def _parsed(path: Path, text: str, delimiter: str) -> list[_Record]:
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    exact = _exact(text, delimiter)
    rows = []
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                rows.append(_Record(reader.line_num, stripped, exact.get(reader.line_num, cells)))
    except csv.Error as error:
        where = f"line {reader.line_num}"
        raise FileFormatError(path, f"{error}.", where=where) from None
    return rows


def _exact(text: str, delimiter: str) -> dict[int, list[str]]:
    """Return last line of each row -> its cells; {} where no cell begins with a blank.

    The reader of rows leaves these blanks out, so that a quote may follow them.
    """
    if not re.search(rf"(?m)(?:^|{re.escape(delimiter)})[ ]", text):
        return {}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with suppress(csv.Error):
        return dict((reader.line_num, cells) for cells in reader)  # noqa: C402 - the line moves on
    return {}


def existing(folder: Path, *names: str) -> str:
    """Return the first of these names that is a file in the folder; the last if none is.

    >>> existing(Path("nowhere"), " a.png", "a.png")
    'a.png'
    """
    others = (name for name in names[:-1] if name != names[-1])
    return next((name for name in others if inside(folder, name)), names[-1])


def _row(path: Path, columns: Sequence[str], delimiter: str, record: _Record) -> CsvRow:
    line, cells, exact = record
    named = dict(zip(columns, cells, strict=False))
    if any(cells[len(columns) :]) or named.pop("", ""):
        problem = f"more values than columns. Quote texts with {DELIMITERS[delimiter]}."
        raise FileFormatError(path, problem, where=f"line {line}")
    texts = {name: _cell_text(named.get(name, "")) for name in columns if name}
    if NAME in texts:  # a name may begin with a blank or an apostrophe
        place = columns.index(NAME)
        written = (*exact[place : place + 1], *cells[place : place + 1], texts[NAME])
        texts[NAME] = existing(path.parent, *written)
    return CsvRow(f"line {line}", texts)


def read_encoded(path: Path, *, remedy: str = "", guess: bool = False) -> tuple[str, str]:
    """Read a text, and return it with the name of its encoding, which is "" for UTF-8.

    UTF-16 and UTF-32 are known by their marks, UTF-16 without one by its zero bytes. Where
    ``guess`` is true, bytes that are not Unicode are read as Windows-1252. Raises FileFormatError.
    """
    content = read_bytes(path, remedy=remedy)
    check_is_text(path, content, "table")
    encoding, name = _encoding_of(content)
    try:
        return one_kind_of_breaks(content.decode(encoding)), name
    except UnicodeDecodeError as error:
        if encoding != "utf-8" or not guess:
            problem = f"cannot be read: {error}."
            raise FileFormatError(path, problem, remedy="Save it as UTF-8.") from None
    try:
        return one_kind_of_breaks(content.decode("cp1252")), "Windows-1252"
    except UnicodeDecodeError as error:
        problem = f"cannot be read: it is neither Unicode nor Windows-1252: {error}."
        raise FileFormatError(path, problem, remedy="Save it as UTF-8.") from None


def _encoding_of(content: bytes) -> tuple[str, str]:
    for mark, encoding, name in MARKS:
        if content.startswith(mark):
            return encoding, name
    if len(content) >= 4 and not len(content) % 2:  # noqa: PLR2004 - two characters
        if not any(content[1:64:2]):
            return "utf-16-le", "UTF-16"
        if not any(content[0:64:2]):
            return "utf-16-be", "UTF-16"
    return "utf-8", ""


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
        held = ast.literal_eval(text.removeprefix(LITERAL))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text
    return held if isinstance(held, str) else text
