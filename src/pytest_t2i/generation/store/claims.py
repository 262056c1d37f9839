"""Claims: they record which process is making which image, so that no image is made twice.

A claim belongs to an owner, and an owner is a file that its process keeps locked. The operating
system frees the lock when the process ends, however it ends; reused process ids do no harm. Locks
of another host may be invisible here: its claims hold as long as they are renewed.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

LEASE = 600.0
"""Seconds after which a claim of another host is void unless it was renewed."""
ENDING = ".owner"


class Owner:
    """This process as an owner of claims, until the process ends or releases them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        alive = [is_locked(file) for file in folder.glob(f"*{ENDING}")]
        self.has_dead_neighbours = False in alive
        """Whether another process ended without releasing its claims."""
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self._lock = FileLock(_owner_file(folder, self.name), thread_local=False)
        self._lock.acquire()

    def let_go(self) -> None:
        """Release all claims of this process."""
        self._lock.release()
        # Where the folder cannot be written any more, the next owner removes the file.
        with suppress(OSError):
            Path(self._lock.lock_file).unlink(missing_ok=True)


def _owner_file(folder: Path, owner: str) -> Path:
    """The file that an owner keeps locked."""
    return folder / f"{owner.rpartition(':')[2]}{ENDING}"


def words(owner: str) -> str:
    """Process id and host of an owner, for messages."""
    host, pid, _ = (*owner.split(":"), "", "")[:3]
    return f"process {pid} on {host}"


def claim(
    connection: sqlite3.Connection, folder: Path, keys: Sequence[str], owner: str
) -> list[str]:
    """Claim the keys that no other process has claimed, and return those."""
    now = time.time()
    with transaction(connection):
        alive = Alive(folder, owner, now)
        others = {row["key"] for row in held(connection, keys) if alive.holds(row)}
        free = [key for key in keys if key not in others]
        connection.executemany(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)",
            [(key, owner, now + LEASE) for key in free],
        )
        return free


def renew(connection: sqlite3.Connection, owner: str) -> None:
    """Extend all claims of this owner; call inside a transaction."""
    connection.execute("UPDATE claims SET until = ? WHERE owner = ?", (time.time() + LEASE, owner))


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: str) -> None:
    """Delete claims of this owner."""
    with transaction(connection):
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
            self._known[owner] = is_locked(_owner_file(self._folder, owner))
        return self._known[owner]


def is_locked(file: Path) -> bool:
    """Whether a living process holds the lock. The lock file of a dead process is removed."""
    if not file.exists():
        return False
    try:
        with FileLock(file, timeout=0), suppress(OSError):
            file.unlink(missing_ok=True)
    except Timeout:
        return True
    return False


def held(connection: sqlite3.Connection, keys: Sequence[str]) -> list[sqlite3.Row]:
    """The claims on these keys."""
    rows: list[sqlite3.Row] = []
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, owner, until FROM claims WHERE key IN ({marks})"  # noqa: S608
        rows += connection.execute(query, part).fetchall()
    return rows
