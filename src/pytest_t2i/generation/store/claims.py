"""Claims: they record which process is making which image, so that no image is made twice.

A claim belongs to an owner (``locks``) and ends with its process: the system frees the lock. Locks
of another host may be invisible here: its claims hold as long as they are renewed.
"""

from __future__ import annotations

import socket
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_t2i.generation.store.locks import is_locked, owner_file

LEASE = 600.0
"""Seconds after which a claim of another host is void unless it was renewed."""


def claim(
    connection: sqlite3.Connection, folder: Path, keys: Sequence[str], owner: str
) -> list[str]:
    """Claim the keys that no other process has claimed, and return those."""
    now = time.time()
    with transaction(connection):
        alive = Alive(folder, owner, now)
        of_others = {row["key"] for row in held(connection, keys) if alive.holds(row)}
        free = [key for key in keys if key not in of_others]
        connection.executemany(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)",
            [(key, owner, now + LEASE) for key in free],
        )
        return free


def renew(connection: sqlite3.Connection, owner: str) -> None:
    """Extend all claims of this owner; call inside a transaction."""
    connection.execute("UPDATE claims SET until = ? WHERE owner = ?", (time.time() + LEASE, owner))


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: str) -> None:
    """Delete claims of this owner; call inside a transaction."""
    connection.executemany(
        "DELETE FROM claims WHERE key = ? AND owner = ?", [(key, owner) for key in keys]
    )


class transaction:  # noqa: N801 - reads as a statement
    """A write transaction. BEGIN IMMEDIATE makes a second writer wait instead of fail."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __enter__(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.connection.execute("COMMIT")
        elif self.connection.in_transaction:  # SQLite rolls back by itself where the disk is full
            self.connection.execute("ROLLBACK")


class Alive:
    """Decides which claims still hold; each owner's lock is checked once."""

    def __init__(self, folder: Path, owner: str, now: float) -> None:
        self._folder, self._own, self._now = folder, owner, now
        self._known: dict[str, bool] = {}

    def holds(self, row: sqlite3.Row) -> bool:
        """Whether another living process is making this image."""
        owner = row["owner"]
        if owner == self._own:
            return False
        if owner.partition(":")[0] != socket.gethostname():
            return bool(row["until"] >= self._now)
        if owner not in self._known:
            self._known[owner] = is_locked(owner_file(self._folder, owner))
        return self._known[owner]


def held(connection: sqlite3.Connection, keys: Sequence[str]) -> list[sqlite3.Row]:
    """The claims on these keys."""
    rows: list[sqlite3.Row] = []
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, owner, until FROM claims WHERE key IN ({marks})"  # noqa: S608
        rows += connection.execute(query, part).fetchall()
    return rows
