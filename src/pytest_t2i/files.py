"""Files: written whole, under a temporary name and then renamed; read with a clear answer."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from pytest_t2i.errors import FileFormatError, StoreError


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
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileFormatError(path, "no such file.", remedy="Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(path, f"is not valid TOML: {error}.") from None


def read_json(path: Path, schema: str, *, kind: str, remedy: str = "") -> dict[str, Any]:
    """A JSON file of ours as a dict; FileFormatError says what is wrong and where."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileFormatError(path, f"no such {kind}.", remedy=remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise FileFormatError(path, f"is not valid JSON: {error.msg}.", where=where) from None
    found = plain.get("schema") if isinstance(plain, dict) else type(plain).__name__
    if found != schema:
        raise FileFormatError(path, f"expected schema {schema!r}, found {found!r}.")
    return plain  # type: ignore[no-any-return]
