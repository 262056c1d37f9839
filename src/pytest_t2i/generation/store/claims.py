"""Claims: which process is making which image, so that none is made twice."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Sequence

LEASE = 600.0
"""Seconds after which a claim of a process that cannot be asked (another host) is void."""


def owner_name() -> str:
    """This process, as others can look it up."""
    return f"{socket.gethostname()}:{os.getpid()}"


def claim(connection: sqlite3.Connection, keys: Sequence[str], owner: str, most: int) -> list[str]:
    """Reserve keys that nobody else is making, the first ``most``; returns what is now ours."""
    now = time.time()
    with transaction(connection):
        held = _held(connection, keys)
        others = {row["key"] for row in held if not _is_void(row, owner, now)}
        free = [key for key in keys if key not in others][:most]
        connection.executemany(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)",
            [(key, owner, now + LEASE) for key in free],
        )
        return free


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: str) -> None:
    """Give claims back."""
    with transaction(connection):
        connection.executemany(
            "DELETE FROM claims WHERE key = ? AND owner = ?", [(key, owner) for key in keys]
        )


class transaction:  # noqa: N801 - reads as a statement
    """BEGIN IMMEDIATE: a reader that turns writer half-way would fail instead of waiting."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self.connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _held(connection: sqlite3.Connection, keys: Sequence[str]) -> list[sqlite3.Row]:
    rows: list[sqlite3.Row] = []
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, owner, until FROM claims WHERE key IN ({marks})"  # noqa: S608
        rows += connection.execute(query, part).fetchall()
    return rows


def _is_void(row: sqlite3.Row, owner: str, now: float) -> bool:
    host, _, pid = row["owner"].rpartition(":")
    if row["owner"] == owner:
        return True
    if host == socket.gethostname():
        return not _is_alive(int(pid))
    return bool(row["until"] < now)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
