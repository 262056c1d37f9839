"""Seals: the last column of a row says whether the others are as this package wrote them.

Against chance and against hands, as the checksum of a file is: a label, a score, a seed or a prompt
that was changed in the index is noticed when the row is read. Against whoever changes the seal,
too, it does not help.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

TABLES = ("images", "revised_prompts", "detections", "objects", "arrays", "facts")
"""Tables whose rows are sealed; a claim lives for minutes."""


def seal(row: Sequence[Any]) -> int:
    """CRC-32 of the values of a row without its seal: text, whole numbers, bytes and None.

    >>> seal(("aa", 1, None)) == seal(["aa", 1, None]), seal(("aa", 1)) == seal(("aa", 2))
    (True, False)
    """
    return zlib.crc32(repr(tuple(map(_plain, row))).encode())


def _plain(value: Any) -> Any:
    """What the index gives back of a value: a text of a class of its own comes back as a text."""
    return str.__str__(value) if isinstance(value, str) else value


def is_sealed(row: sqlite3.Row) -> bool:
    """Whether a row of the index holds what was written."""
    *values, sealed = row
    # As in seal, which costs three times as much: what comes from the index is plain.
    return bool(zlib.crc32(repr(tuple(values)).encode()) == sealed)


def insert(connection: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert or replace rows, sealed."""
    sealed = [(*row, seal(row)) for row in rows]
    if sealed:
        marks = ",".join("?" * len(sealed[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", sealed)  # noqa: S608 - a fixed name and question marks


def seal_all(connection: sqlite3.Connection) -> None:
    """Seal the rows of a store of format 1, which had none; within a transaction."""
    connection.create_function("seal_of", -1, lambda *row: seal(row), deterministic=True)
    for table in TABLES:
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({table})")]
        if columns:  # the last versions of that format had more tables than the first
            connection.execute(f"ALTER TABLE {table} ADD COLUMN seal INTEGER")
            connection.execute(f"UPDATE {table} SET seal = seal_of({', '.join(columns)})")  # noqa: S608 - fixed names
