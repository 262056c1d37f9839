"""Files: written whole, under a temporary name and then renamed; read with a clear answer.

Over 300 lines: every file of a user goes through these doors, and they share their messages.
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
"""Size of a file of ours beyond which it is taken for something else."""
MOST_DEPTH = 64
"""Levels of tables and lists within one another; ours have ten."""
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
            # mkstemp makes files for the owner only; people open these.
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(explain(path, error)) from error


def _temporary_beside(path: Path) -> tuple[int, str]:
    """Handle and name of a new file in the folder of ``path``, which is made where it is absent."""
    prefix = f".{path.name}."
    try:
        return tempfile.mkstemp(dir=path.parent, prefix=prefix)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.mkstemp(dir=path.parent, prefix=prefix)


MOST_NAME, MOST_PATH = 255, 4096
"""Bytes of a file's name and of a path that file systems take."""


def user_path(text: str) -> Path:
    """A path as people type it: ``~`` is the home folder.

    Raises ConfigurationError for a text that no path can be, or the home of nobody.

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
    """A path as one types it in the working directory; one that lies elsewhere stays whole."""
    whole = path.absolute()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole


def file_name(text: str) -> str:
    """A text as the name of a file or folder, short and readable.

    >>> file_name("owner/name"), file_name("images:some/where")
    ('owner-name', 'images-some-where')
    """
    words = "".join(c if c.isalnum() or c in "._" else " " for c in text).split()
    return "-".join(words).strip(".")[:60] or "unnamed"


TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}")
"""Names that mkstemp gives."""
UNFINISHED_AGE = 60.0
"""Seconds after which nobody writes a temporary file any more."""


def remove_unfinished(folder: Path) -> None:
    """Remove what ``write_whole`` left below a folder when its process was killed."""
    oldest = time.time() - UNFINISHED_AGE
    for file in folder.rglob(".*.????????"):
        with suppress(OSError):
            if TEMPORARY.fullmatch(file.name) and file.stat().st_mtime < oldest:
                file.unlink()


def explain(path: Path, error: OSError) -> str:
    """What a failed write means for the user and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{path}: the disk is full. Nothing made so far is lost: free some space, or move the "
            "store with --t2i-store, and run again."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"{path}: may not be written. Choose another folder with --t2i-store or --t2i-report."
        )
    return f"{path}: cannot be written: {error.strerror or error}."


def checksum(content: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(content).hexdigest()


def stamp(path: Path | str) -> str | None:
    """Size and modification time, to notice a change without reading; None when absent."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a text is looked up in a third of the time
    except OSError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


class CsvRow(NamedTuple):
    """One row of a CSV file."""

    where: str
    """ "line 3"."""
    values: dict[str, str]
    """By column, without surrounding blanks; "" where the row ends early."""


def stamps(path: Path, pattern: str = "*") -> list[str]:
    """Every file at or below a local path with its stamp; empty when there is none."""
    if path.is_file():
        return [f"{path.name}:{stamp(path)}"]
    files = sorted(file for file in path.rglob(pattern) if file.is_file()) if path.is_dir() else []
    return [f"{file.relative_to(path)}:{stamp(file)}" for file in files]


PLAIN = re.compile(r"[^/\\\\:\0]+(?:/[^/\\\\:\0]+)*")
"""Names of parts with slashes between them, on every system alike."""


def is_relative(name: str) -> bool:
    """Whether a file's name stays below the folder that it is relative to, as it is written.

    >>> [is_relative(name) for name in ("a/b.png", "../b.png", "/b.png", "C:b.png", "a/../../b")]
    [True, False, False, False, False]
    """
    if PLAIN.fullmatch(name):  # nearly all are, and tables have 100,000 of them
        return ".." not in name.split("/")
    there = PurePosixPath(name), PureWindowsPath(name)
    return not any(path.anchor or ".." in path.parts for path in there) and "\0" not in name


def inside(folder: Path, name: str) -> Path | None:
    """The file of that name if it is there and lies in the folder, links followed; else None."""
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # names too long, with NUL; links in a circle
        return None


def outside(folder: Path, names: Iterable[str]) -> list[str]:
    """Those names that leave the folder: as they are written, or by a link."""
    return [name for name in names if not is_relative(name) or _is_led_out(folder, name)]


def _is_led_out(folder: Path, name: str) -> bool:
    try:
        path = folder / name
        return path.is_file() and not path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def read_text(path: Path, *, kind: str = "file", remedy: str = "Check the path.") -> str:
    """An ordinary UTF-8 file of a sensible size; FileFormatError for anything else."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileFormatError(path, f"expected a {kind}, this is no ordinary file.")
        if status.st_size > MOST_BYTES:
            raise FileFormatError(path, f"expected a {kind} of at most {MOST_BYTES >> 20} MiB.")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileFormatError(path, f"no such {kind}.", remedy=remedy) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict; FileFormatError with file and line."""
    content = read_text(path)
    try:
        plain = tomllib.loads(content)
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid TOML: {_too_much(error)}.") from None
    _check_plain(path, plain)
    return plain


def read_json(path: Path, *schemas: str, kind: str, remedy: str = "") -> dict[str, Any]:
    """A JSON file of ours as a dict, of one of these schemas, the newest first.

    FileFormatError says what is wrong and where.
    """
    plain = parse_json(path, read_text(path, kind=kind, remedy=remedy))
    given = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
    if given not in schemas:
        raise FileFormatError(path, f"expected schema {schemas[0]!r}, got {shown(given)}.")
    return plain  # type: ignore[no-any-return]


def parse_json(path: Path, content: str) -> Any:
    """The JSON value of a file's content; FileFormatError with line and column.

    What JSON does not have (NaN, half a surrogate pair) is refused, and a key that stands twice.
    """
    try:
        plain = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_table)
        if "\\ud" in content.lower():
            json.dumps(plain, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise FileFormatError(path, f"is not valid JSON: {error.msg}.", where=where) from None
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid JSON: {_too_much(error)}.") from None
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
    """The rows of a CSV file with a header that has at least these columns.

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
            yield CsvRow(where, {name: _text(value.strip()) for name, value in row.items()})
    except csv.Error as error:
        # The reader below counts lines that gave no row, too.
        where = f"line {reader.reader.line_num}"
        raise FileFormatError(path, f"{error}.", where=where) from None


def _text(value: str) -> str:
    """A cell without the sign that keeps spreadsheets from computing it (``escaping.cell``)."""
    return value[1:] if FORMULA.match(value) else value


def convert(
    path: Path,
    plain: Any,
    kind: type[Kind],
    *,
    where: str = "",
    number: str = "a number",
    remedy: str = "",
) -> Kind:
    """A plain value as a record of this type, every field checked.

    Args:
        path: The file it comes from, for messages.
        plain: What TOML or JSON gave.
        kind: A msgspec Struct, a dataclass or a built-in type such as ``dict[str, float]``.
        where: The place of the value in the file, such as ``[hobby]``.
        number: What a number is there, for messages.
        remedy: text appended to the message.

    Raises:
        FileFormatError: names the key, what is expected there and what stands there; also where a
            value lies beyond what its field can be (``data.Count``, ``data.Reach``).
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
        problem = f"every column has a name of its own, got: {listed}."
        raise FileFormatError(path, problem, where="line 1")


def _check_plain(path: Path, plain: Any, *, is_finite: bool = False) -> None:
    """Refuse what no file of ours holds, and what falls over only when it is used.

    JSON has no word for infinity, but 1e999 is read as it; what TOML says of it, readers judge.
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


def _too_much(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
