"""Seals: a row's last column is a checksum of the others, so that changed rows are noticed.

A seal detects accidents and edits, as the checksum of a file does: a label, a score, a seed or a
prompt that was changed in the index is noticed when the row is read. It does not protect against
someone who changes the seal, too.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

TABLES = (
    "images",
    "revised_prompts",
    "detections",
    "objects",
    "arrays",
    "pixels",
    "thumbnails",
    "facts",
)
"""Tables whose rows have a seal. Claims, which last for minutes, have none."""


def seal(row: Sequence[Any]) -> int:
    """CRC-32 of the values of a row without its seal: text, whole numbers, bytes and None.

    >>> seal(("aa", 1, None)) == seal(["aa", 1, None]), seal(("aa", 1)) == seal(("aa", 2))
    (True, False)
    """
    return zlib.crc32(repr(tuple(map(_plain, row))).encode())


def _plain(value: Any) -> Any:
    """A value as SQLite returns it: an instance of a subclass of str becomes a plain str."""
    return str.__str__(value) if isinstance(value, str) else value


def is_sealed(row: sqlite3.Row | tuple[Any, ...]) -> bool:
    """Whether a row of the index is unchanged since it was written."""
    *values, sealed = row
    # The same as seal() at a third of the time: values from the index are plain already.
    return bool(zlib.crc32(repr(tuple(values)).encode()) == sealed)


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert or replace rows, each with its seal."""
    sealed = [(*row, seal(row)) for row in rows]
    if sealed:
        marks = ",".join("?" * len(sealed[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", sealed)  # noqa: S608 - a fixed name and question marks


def seal_all(connection: sqlite3.Connection) -> None:
    """Add seals to a store of format 1, which has none; call inside a transaction."""
    connection.create_function("seal_of", -1, lambda *row: seal(row), deterministic=True)
    for table in TABLES:
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
        if columns:  # early versions of that format lacked some tables
            connection.execute(f"ALTER TABLE {table} ADD COLUMN seal INTEGER")
            connection.execute(f"UPDATE {table} SET seal = seal_of({', '.join(columns)})")  # noqa: S608 - fixed names
