"""The SQLite index of a store: its tables, and connections that several processes may share."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pytest_t2i.errors import StoreError

VERSION = 1

TABLES = """
CREATE TABLE IF NOT EXISTS images (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, seed INTEGER NOT NULL,
    settings TEXT NOT NULL, file TEXT, sha256 TEXT, stamp TEXT, width INTEGER, height INTEGER,
    black INTEGER NOT NULL DEFAULT 0, refusal TEXT, created TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS detections (
    key TEXT NOT NULL, detector TEXT NOT NULL, label TEXT, undetected TEXT, scores TEXT NOT NULL,
    detail TEXT NOT NULL, PRIMARY KEY (key, detector)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    key TEXT NOT NULL, finder TEXT NOT NULL, objects BLOB NOT NULL, PRIMARY KEY (key, finder)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrays (
    key TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL,
    stamp TEXT NOT NULL, PRIMARY KEY (key, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
"""


def connect(folder: Path) -> sqlite3.Connection:
    """Open the index, made when absent; writers of several processes wait for one another.

    Raises StoreError when the folder cannot be written or the index is of another version.
    """
    path = folder / "index.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=60.0, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        # NORMAL keeps a WAL database whole through a kill; a power cut may lose the last batch.
        connection.execute("PRAGMA synchronous=NORMAL")
        _check_version(path, connection)
        connection.executescript(TABLES)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"{path}: the store cannot be opened for writing: {error}. Choose another folder with "
            "--t2i-store, or mend the permissions."
        ) from error
    connection.row_factory = sqlite3.Row
    return connection


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        connection.execute(f"PRAGMA user_version={VERSION}")
    elif version != VERSION:
        raise StoreError(
            f"{path}: the store has format {version}, this pytest-t2i reads format {VERSION}. "
            "Use the version that wrote it, or another folder with --t2i-store."
        )
