"""Functions that write files atomically, and read files of users with clear messages.

Over 300 lines: the functions share their checks and messages.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import math
import os
import re
import stat
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple, TypeVar

import msgspec

from pytest_t2i.data import beyond_reach
from pytest_t2i.errors import ConfigurationError, FileFormatError, StoreError, mismatch, shown

Kind = TypeVar("Kind")
MOST_BYTES = 1 << 30
"""Largest size of a file that is read."""
MOST_DEPTH = 64
"""Largest depth of nested tables and lists; our own files have ten levels."""
FORMULA = re.compile(r"'[=+@\-]")
MOST_BITS = 64
"""Largest number of bits of a whole number: a store's index and seeds allow no more."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none; create its folder where it is absent.

    Raises StoreError when the folder cannot be written or the disk is full.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "new", "notes.txt"), b"all of it")
    ...     Path(folder, "new", "notes.txt").read_text()
    'all of it'
    """
    try:
        handle, temporary = _temporary_beside(path)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            # mkstemp makes files that only their owner may read.
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(explain(path, error)) from error


def _temporary_beside(path: Path) -> tuple[int, str]:
    """Create a temporary file in the folder of ``path``, and the folder; return (handle, name)."""
    prefix = f".{path.name}."
    try:
        return tempfile.mkstemp(dir=path.parent, prefix=prefix)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.mkstemp(dir=path.parent, prefix=prefix)


MOST_NAME, MOST_PATH = 255, 4096
"""Largest length in bytes of a file's name and of a path."""


def user_path(text: str) -> Path:
    """Return the path that a user typed; ``~`` is the home folder.

    Raises ConfigurationError for a text that cannot be a path, or the home of an unknown user.

    >>> user_path("~/pictures") == Path.home() / "pictures"
    True
    """
    names = re.split(r"[/\\]", text)
    is_long = any(len(os.fsencode(name)) > MOST_NAME for name in names)
    if is_long or len(os.fsencode(text)) > MOST_PATH or "\0" in text:
        raise ConfigurationError(f"expected the path of a file or folder, got {shown(text)}")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigurationError(f"expected a path, got {shown(text)}: no such user") from None


def from_here(path: Path) -> Path:
    """Return a path relative to the working directory if it lies inside, else absolute."""
    whole = path.absolute()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole


def file_name(text: str) -> str:
    """Turn a text into a short, readable name of a file or folder.

    >>> file_name("owner/name"), file_name("images:some/where")
    ('owner-name', 'images-some-where')
    """
    words = "".join(c if c.isalnum() or c in "._" else " " for c in text).split()
    return "-".join(words).strip(".")[:60] or "unnamed"


TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")
"""Pattern of the names that ``_temporary_beside`` creates."""
UNFINISHED_AGE = 60.0
"""Age in seconds from which a temporary file counts as abandoned."""


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files below a folder that killed processes left in ``write_whole``."""
    oldest = time.time() - UNFINISHED_AGE
    for file in folder.rglob(".*.????????"):
        with suppress(OSError):
            if TEMPORARY.fullmatch(file.name) and file.stat().st_mtime < oldest:
                file.unlink()


def explain(path: Path, error: OSError) -> str:
    """Return a message for the user about a failed write: the cause and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path}: the disk is full. Nothing made so far is lost: free some space, or move the "
            "store with --t2i-store, and run again."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"{path}: no permission to write. Choose another folder with --t2i-store or "
            "--t2i-report."
        )
    return f"{path}: cannot be written: {error.strerror or error}."


def checksum(content: bytes) -> str:
    """Return the hex SHA-256 of the content."""
    return hashlib.sha256(content).hexdigest()


def stamp(path: Path | str) -> str | None:
    """Return size and modification time, which show a change without reading; None if absent."""
    try:
        status = os.stat(path)  # noqa: PTH116 - three times as fast as Path.stat for a str
    except OSError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


class CsvRow(NamedTuple):
    """One row of a CSV file."""

    where: str
    """Place in the file, such as "line 3"."""
    values: dict[str, str]
    """Cells by column, without surrounding blanks; "" where the row ends early."""


def stamps(path: Path, pattern: str = "*") -> list[str]:
    """List every file at or below a path as "name:stamp"; the list is empty if there is none."""
    if path.is_file():
        return [f"{path.name}:{stamp(path)}"]
    files = sorted(file for file in path.rglob(pattern) if file.is_file()) if path.is_dir() else []
    return [f"{file.relative_to(path)}:{stamp(file)}" for file in files]


BYTE = re.compile("[\udc80-\udcff]")
"""A byte of a file's name that is no UTF-8, as Python reads it."""


def encodable(text: str) -> str:
    r"""Return a path as JSON can hold it: bytes that are no UTF-8 are written as in an address.

    >>> encodable("a\udcff.png"), encodable("100%.png")
    ('a%FF.png', '100%.png')
    """
    return BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", text)


PLAIN = re.compile(r"[^/\\\\:\0]+(?:/[^/\\\\:\0]+)*")
"""Relative paths that every system reads alike: names with slashes between them."""


def is_relative(name: str) -> bool:
    """Whether a relative path, as it is written, stays inside its folder on every system.

    >>> [is_relative(name) for name in ("a/b.png", "../b.png", "/b.png", "C:b.png", "a/../../b")]
    [True, False, False, False, False]
    """
    if PLAIN.fullmatch(name):  # a fast path for nearly all names
        return ".." not in name.split("/")
    there = PurePosixPath(name), PureWindowsPath(name)
    return not any(path.anchor or ".." in path.parts for path in there) and "\0" not in name


def inside(folder: Path, name: str) -> Path | None:
    """Return the existing file of this name if it lies in the folder, links followed; else None."""
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name too long or with NUL, or a circle of links
        return None


def outside(folder: Path, names: Iterable[str]) -> list[str]:
    """List the names whose files lie outside the folder, as they are written or by a link."""
    return [name for name in names if not is_relative(name) or _links_outside(folder, name)]


def _links_outside(folder: Path, name: str) -> bool:
    try:
        path = folder / name
        return path.is_file() and not path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def read_text(path: Path, *, kind: str = "file", remedy: str = "Check the path.") -> str:
    """Read a regular UTF-8 file of at most MOST_BYTES; raise FileFormatError for anything else."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileFormatError(path, f"expected a {kind}, this is not a regular file.")
        if status.st_size > MOST_BYTES:
            raise FileFormatError(path, f"expected a {kind} of at most {MOST_BYTES >> 20} MiB.")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileFormatError(path, f"no such {kind}.", remedy=remedy) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file as a dict; raise FileFormatError with file and line."""
    content = read_text(path)
    try:
        plain = tomllib.loads(content)
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid TOML: {_reason(error)}.") from None
    _check_plain(path, plain)
    return plain


def read_json(path: Path, *schemas: str, kind: str, remedy: str = "") -> dict[str, Any]:
    """Read a JSON file of this project that has one of these schemas, the newest first.

    Raises FileFormatError for invalid JSON and for another schema.
    """
    plain = parse_json(path, read_text(path, kind=kind, remedy=remedy))
    given = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
    if given not in schemas:
        raise FileFormatError(path, f"expected schema {schemas[0]!r}, got {shown(given)}.")
    return plain  # type: ignore[no-any-return]


def parse_json(path: Path, content: str) -> Any:
    """Return the JSON value of a file's content; raise FileFormatError with line and column.

    NaN, half a surrogate pair, which JSON does not allow, and duplicate keys are refused.
    """
    try:
        plain = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_table)
        if "\\ud" in content.lower():
            json.dumps(plain, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise FileFormatError(path, f"is not valid JSON: {error.msg}.", where=where) from None
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid JSON: {_reason(error)}.") from None
    _check_plain(path, plain, is_finite=True)
    return plain


def decode_json(path: Path, kind: type[Kind], *, remedy: str = "") -> Kind:
    """Read a JSON file of another program as a value of this type, and check every field.

    Args:
        path: path of the file.
        kind: a dataclass or a built-in type such as ``list[dict[str, str]]``; keys of the file that
            the type does not have are ignored.
        remedy: description of the expected file, appended to every message.

    Raises:
        FileFormatError: the file does not match; the message names the key, what was expected and
            what was given.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "words.json")
    ...     _ = file.write_text('[{"word": "nurse"}]')
    ...     decode_json(file, list[dict[str, str]])
    [{'word': 'nurse'}]
    """
    return convert(path, parse_json(path, read_text(path)), kind, remedy=remedy)


def read_csv(path: Path, needed: Sequence[str], *, remedy: str = "") -> Iterator[CsvRow]:
    """Yield the rows of a CSV file whose header has at least these columns.

    Raises FileFormatError that names the line.
    """
    content = read_text(path, remedy=remedy)
    reader = csv.DictReader(io.StringIO(content, newline=""), restval="", strict=True)
    try:
        _check_columns(path, reader.fieldnames or [], needed, remedy)
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row:
                problem = "more values than columns. Quote texts with commas."
                raise FileFormatError(path, problem, where=where)
            yield CsvRow(where, {name: cell_text(value) for name, value in row.items()})
    except csv.Error as error:
        # The inner reader also counts the lines that gave no row.
        where = f"line {reader.reader.line_num}"
        raise FileFormatError(path, f"{error}.", where=where) from None


def cell_text(value: str) -> str:
    """Return a cell without outer blanks and the apostrophe against formulas (``escaping.cell``).

    >>> cell_text(" '=1 "), cell_text("'tis")
    ('=1', "'tis")
    """
    plain = value.strip()
    return plain[1:] if FORMULA.match(plain) else plain


def convert(
    path: Path,
    plain: Any,
    kind: type[Kind],
    *,
    where: str = "",
    number: str = "a number",
    remedy: str = "",
) -> Kind:
    """Convert a plain value to a record of this type, and check every field.

    Args:
        path: file of the value, for messages.
        plain: value that TOML or JSON gave.
        kind: a msgspec Struct, a dataclass or a built-in type such as ``dict[str, float]``.
        where: place of the value in the file, such as ``[hobby]``.
        number: words for a number in this file, for messages, such as "a share".
        remedy: text appended to the message.

    Raises:
        FileFormatError: a value has the wrong type or is out of the bounds of its field
            (``data.Count``, ``data.Reach``); the message names the key, what was expected and what
            was given.
    """
    try:
        record = msgspec.convert(plain, kind)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        problem, key = mismatch(str(error), plain, kind)
        place = " ".join(part for part in (where, key) if part)
        problem = problem.replace("expected a number", f"expected {number}")
        raise FileFormatError(path, problem, where=place, remedy=remedy) from None
    for key, value, reach in beyond_reach(record, kind):
        problem = f"expected an interval within {reach.low:g} to {reach.high:g}"
        raise FileFormatError(path, f"{problem}, got {key}={value}.", where=where)
    return record


def _check_columns(path: Path, columns: Sequence[str], needed: Sequence[str], remedy: str) -> None:
    listed = ", ".join(columns) or "none"
    for name in needed:
        if name not in columns:
            problem = f"no column {name!r}; there are: {listed}."
            raise FileFormatError(path, problem, where="line 1", remedy=remedy)
    if len(set(columns)) < len(columns):
        problem = f"expected distinct names of columns, got: {listed}."
        raise FileFormatError(path, problem, where="line 1")


def _check_plain(path: Path, plain: Any, *, is_finite: bool = False) -> None:
    """Refuse values that would fail only later: huge integers, infinite numbers, deep nesting.

    JSON has no infinity, but Python reads 1e999 as infinity. TOML has infinity, which the callers
    of ``read_toml`` check.
    """
    level = [plain]
    for _ in range(MOST_DEPTH):
        if any(type(value) is int and value.bit_length() > MOST_BITS for value in level):
            raise FileFormatError(path, f"holds a whole number of more than {MOST_BITS} bits.")
        if is_finite and any(type(v) is float and not math.isfinite(v) for v in level):
            raise FileFormatError(path, "holds a number that is not finite.")
        within = (
            value.values() if isinstance(value, dict) else value
            for value in level
            if isinstance(value, dict | list)
        )
        level = [value for values in within for value in values]
        if not level:
            return
    raise FileFormatError(path, f"is nested deeper than {MOST_DEPTH} levels.")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {shown(twice)} stands twice in one table")
    return table


def _no_constant(name: str) -> float:
    raise ValueError(f"it holds {name}")


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
