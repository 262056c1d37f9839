"""The SQLite index of a store: its tables, and connections that several processes may share."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from filelock import Timeout

from pytest_t2i.errors import StoreError
from pytest_t2i.files import FileLock, no_locks
from pytest_t2i.generation.store.locks import unwritable

VERSION = 1
NAME = "index.sqlite"
PATIENCE = 60.0
"""Seconds that a writer waits for another writer."""

TABLES = """
CREATE TABLE IF NOT EXISTS images (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, seed INTEGER NOT NULL,
    settings TEXT NOT NULL, file TEXT, sha256 TEXT, stamp TEXT, width INTEGER, height INTEGER,
    black INTEGER NOT NULL DEFAULT 0, refusal TEXT, created TEXT NOT NULL, seal INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS detections (
    key TEXT NOT NULL, detector TEXT NOT NULL, label TEXT, undetected TEXT, scores TEXT NOT NULL,
    detail TEXT NOT NULL, seal INTEGER, PRIMARY KEY (key, detector)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revised_prompts (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, seal INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    key TEXT NOT NULL, finder TEXT NOT NULL, objects BLOB NOT NULL, seal INTEGER,
    PRIMARY KEY (key, finder)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrays (
    key TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL,
    stamp TEXT NOT NULL, seal INTEGER, PRIMARY KEY (key, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pixels (
    key TEXT PRIMARY KEY, sha256 TEXT NOT NULL, digest TEXT NOT NULL, likeness TEXT NOT NULL,
    seal INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS thumbnails (
    key TEXT PRIMARY KEY, picture TEXT NOT NULL, sha256 TEXT NOT NULL, seal INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (
    name TEXT PRIMARY KEY, value TEXT NOT NULL, seal INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
"""


class Rows(sqlite3.Cursor):
    """A cursor whose errors say what to do: a damaged page may be met while rows are fetched."""

    def fetchone(self) -> Any:
        """As sqlite3 does."""
        return self._explaining(super().fetchone)

    def fetchall(self) -> list[Any]:
        """As sqlite3 does."""
        rows: list[Any] = self._explaining(super().fetchall)
        return rows

    def __next__(self) -> Any:
        return self._explaining(super().__next__)

    def _explaining(self, fetch: Callable[[], Any]) -> Any:
        try:
            return fetch()
        except sqlite3.DatabaseError as error:
            raise store_error(self.connection.file, error) from error  # type: ignore[attr-defined]


class Index(sqlite3.Connection):
    """A connection whose errors say what to do."""

    file: Path

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """As sqlite3 does."""
        try:
            return self.cursor(Rows).execute(*arguments)
        except sqlite3.DatabaseError as error:
            raise store_error(self.file, error) from error

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """As sqlite3 does."""
        try:
            return self.cursor(Rows).executemany(*arguments)
        except sqlite3.DatabaseError as error:
            raise store_error(self.file, error) from error


def store_error(file: Path, error: sqlite3.DatabaseError) -> StoreError:
    """A StoreError with SQLite's message and the remedy."""
    name = getattr(error, "sqlite_errorname", "") or ""
    words = f"{file}: the store's index cannot be used: {error}."
    if name.startswith("SQLITE_FULL"):
        return StoreError(
            f"{words} The disk is full: free some space and run again, or choose another folder "
            "with --t2i-store. What was made before is kept."
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            f"{words} Another process has locked the index for more than {PATIENCE:g} s: end that "
            "process, and run again."
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreError(
            f"{words} Correct the permissions, or choose another folder with --t2i-store."
        )
    if name.startswith("SQLITE_PROTOCOL") or (name.startswith("SQLITE_IOERR") and "LOCK" in name):
        return StoreError(no_locks(file.parent, str(error)))
    if name.startswith("SQLITE_IOERR"):
        return StoreError(
            f"{words} The disk cannot be read or written: check its free space, its quota and the "
            "largest file allowed, and run again, or choose another folder with --t2i-store."
        )
    return StoreError(
        f"{words} The index is damaged, the pictures are not: `t2i store repair {file.parent}` "
        "reads them into a new index."
    )


def connect(folder: Path) -> Index:
    """Open the index, or create it. Writers of several processes wait for one another."""
    file = folder / NAME
    try:
        _check_is_writable(file)
        (folder / "locks").mkdir(parents=True, exist_ok=True)
        # SQLite does not wait for its turn while a new file becomes a WAL database.
        with FileLock(folder / "locks" / "opening", timeout=PATIENCE):
            return _open(file)
    except sqlite3.DatabaseError as error:
        raise store_error(file, error) from error
    except Timeout:
        raise StoreError(
            f"{file}: another process has been opening the index for {PATIENCE:g} s: end that "
            "process, and run again"
        ) from None
    except OSError as error:
        raise unwritable(file, error) from error


JOURNAL = ("-wal", "-shm")
"""Endings of the files that SQLite keeps beside an index that is open."""


def _check_is_writable(file: Path) -> None:
    """Raise PermissionError where SQLite would open the index for reading only.

    It would leave a journal of this user, and nobody else could write the index from then on.
    """
    for path in (file, *(Path(f"{file}{ending}") for ending in JOURNAL)):
        # Another process may remove its journal between two looks.
        if path.exists() and not os.access(path, os.W_OK) and path.exists():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def connect_reading(folder: Path) -> sqlite3.Connection:
    """Open the index for reading only, also on a read-only medium, and leave nothing there."""
    file = folder / NAME
    if not file.is_file():
        raise sqlite3.OperationalError(f"no index {file}")
    # SQLite would create a journal that is missing, which locks others out of the index.
    there = [Path(f"{file}{ending}").exists() for ending in JOURNAL]
    is_open = all(there) or (any(there) and os.access(file, os.W_OK))
    for how in ("mode=ro", "immutable=1") if is_open else ("immutable=1",):
        index = sqlite3.connect(f"{file.absolute().as_uri()}?{how}", uri=True)
        index.text_factory = partial(str, encoding="utf-8", errors="backslashreplace")
        try:
            index.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            index.close()
            continue
        return index
    raise sqlite3.OperationalError(f"{file} cannot be read")


AT_ONCE = 500
"""Number of keys in one query."""


def query_rows(folder: Path, query: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    """Result of a query for keys that only reads; empty where the index is absent or damaged."""
    rows: list[tuple[Any, ...]] = []
    try:
        with closing(connect_reading(folder)) as index:
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                rows += index.execute(query.format(keys=marks), some)
    except sqlite3.Error:
        return []
    return rows


def check_store_has_index(folder: Path) -> None:
    """Raise StoreError for a store that has pictures but no index."""
    if not (folder / NAME).exists() and next((folder / "images").glob("*/*.png"), None):
        raise StoreError(
            f"{folder}: the store has pictures, but its index is missing: `t2i store repair "
            f"{folder}` reads the pictures into a new index. Or remove the folder, and all images "
            "are made again."
        )


def _open(file: Path) -> Index:
    # SQLite's own files would be 0644 whatever the umask is; its journal takes the index's mode.
    if not file.exists():
        file.touch()
    index = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None, factory=Index)
    index.file = file
    # A text with a damaged byte is read all the same: the checksum of its row shows the damage.
    index.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    try:
        index.execute("PRAGMA journal_mode=WAL")
        # NORMAL keeps a WAL database whole through a kill; a power cut may lose the last batch.
        index.execute("PRAGMA synchronous=NORMAL")
        _check_version(file, index)
        index.executescript(TABLES)
    except BaseException:
        index.close()
        raise
    index.row_factory = sqlite3.Row
    return index


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        connection.execute(f"PRAGMA user_version={VERSION}")
    elif version != VERSION:
        raise StoreError(
            f"{path}: expected a store of format store/{VERSION}, got store/{version}. Choose "
            "another folder with --t2i-store, and the pictures are made again."
        )
