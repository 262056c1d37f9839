"""Files: written whole, under a temporary name and then renamed; read with a clear answer."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import tempfile
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pytest_t2i.errors import FileFormatError, StoreError

Kind = TypeVar("Kind")
MOST_BYTES = 1 << 30
"""Size of a file of ours beyond which it is taken for something else."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none.

    Raises StoreError when the folder cannot be written or the disk is full.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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


def stamp(path: Path) -> str | None:
    """Size and modification time, to notice a change without reading; None when absent."""
    try:
        status = path.stat()
    except OSError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}"


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict; FileFormatError with file and line."""
    content = read_text(path)
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(path, f"is not valid TOML: {error}.") from None
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid TOML: {_too_much(error)}.") from None


def read_json(path: Path, schema: str, *, kind: str, remedy: str = "") -> dict[str, Any]:
    """A JSON file of ours as a dict; FileFormatError says what is wrong and where."""
    plain = parse_json(path, read_text(path, kind=kind, remedy=remedy))
    given = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
    if given != schema:
        raise FileFormatError(path, f"expected schema {schema!r}, got {given!r}.")
    return plain  # type: ignore[no-any-return]


def parse_json(path: Path, content: str) -> Any:
    """The JSON value of a file's content; FileFormatError with line and column."""
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise FileFormatError(path, f"is not valid JSON: {error.msg}.", where=where) from None
    except (RecursionError, ValueError) as error:
        raise FileFormatError(path, f"is not valid JSON: {_too_much(error)}.") from None


def _too_much(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def read_text(path: Path, *, kind: str = "file", remedy: str = "Check the path.") -> str:
    """An ordinary UTF-8 file of a sensible size; FileFormatError for anything else."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileFormatError(path, f"expected a {kind}, this is no ordinary file.")
        if status.st_size > MOST_BYTES:
            raise FileFormatError(path, f"expected a {kind} of at most {MOST_BYTES >> 20} MiB.")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileFormatError(path, f"no such {kind}.", remedy=remedy) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None


def convert(path: Path, plain: Any, kind: type[Kind], *, where: str = "") -> Kind:
    """A plain value as a record of this type, every field checked.

    Raises FileFormatError that names the key and what stands there.
    """
    try:
        return msgspec.convert(plain, kind)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        problem, _, place = str(error).partition(" - at ")
        key = place.strip("`").removeprefix("$").removeprefix(".")
        place = ", ".join(part for part in (where, f"key {key!r}" if key else "") if part)
        raise FileFormatError(path, f"{problem}.", where=place) from None
