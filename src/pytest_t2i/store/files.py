"""Files written whole: a temporary name beside the target, then a rename."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from pathlib import Path

from pytest_t2i.errors import StoreError


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
