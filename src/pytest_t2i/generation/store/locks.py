"""Who uses a store: runs beside each other, or one command that changes the store as a whole.

Every process that opens a store is an owner: it keeps a file of its own locked as long as it lives.
The operating system frees the lock when the process ends, however it ends. Commands such as prune
hold the gate, which every owner passes once when it starts, and refuse to begin while an owner
lives. Another machine, whose locks may be invisible here, is known by its note (``places``).
"""

from __future__ import annotations

import os
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout

from pytest_t2i.errors import StoreError
from pytest_t2i.files import FileLock, owned, write_whole
from pytest_t2i.generation.store.places import Machine

LOCKS = "locks"
"""Folder of the locks in a store."""
ENDING = ".owner"
"""Suffix of the file that an owner keeps locked."""
PROCESS = ".process"
"""Suffix of the file that describes the process of an owner or of the gate."""
OF_A_RUN = re.compile(r"\.?[0-9a-f]{32}\.(counts|progress).*|.*\.process(\..*)?")
"""Names of files that a run removes at its end: its counts and progress, and descriptions."""
GATE = "maintenance"
PATIENCE = 60.0
"""Seconds that a run waits for the end of a maintenance command."""
QUICK = 5.0
"""Seconds that a maintenance command waits for runs that are passing the gate."""


def words(owner: str) -> str:
    """Process id and host of an owner, for messages."""
    host, pid, _ = (*owner.split(":"), "", "")[:3]
    return f"process {pid} on {host}"


def _new_name() -> str:
    """Host, process id and a random number of this process, with colons between them."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


class Owner:
    """This process as one that uses a store, until the process ends or lets go."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError while a maintenance command works, or if the folder is read-only."""
        locks, self.name = folder / LOCKS, _new_name()
        self._lock = FileLock(owner_file(locks, self.name), thread_local=False)
        self._pid = os.getpid()
        try:
            locks.mkdir(parents=True, exist_ok=True)
            with FileLock(locks / GATE, timeout=PATIENCE):
                alive = [is_locked(file) for file in locks.glob(f"*{ENDING}")]
                if not any(alive):
                    _sweep(locks)
                _describe(Path(self._lock.lock_file), self.name)
                self._lock.acquire()
        except Timeout:
            raise StoreError(
                f"{folder}: {_at_gate(locks)} has been changing this store for {PATIENCE:g} s: "
                "wait for its end, and run again"
            ) from None
        except OSError as error:
            raise unwritable(folder, error) from error
        self.has_dead_neighbours = False in alive
        """Whether another process ended without letting go."""

    def let_go(self) -> None:
        """End the use, with all claims; a forked process leaves it to its parent."""
        if self._pid == os.getpid():
            self._lock.release()
            _remove(Path(self._lock.lock_file))


def unwritable(place: Path, error: OSError) -> StoreError:
    """The error of a store that cannot be written."""
    file = Path(error.filename or place)
    return StoreError(
        f"{place}: the store cannot be opened for writing: {error}{owned(file)}. Correct the "
        "permissions, or choose another folder with --t2i-store."
    )


@contextmanager
def use(folder: Path) -> Iterator[None]:
    """Use a store as a run does, so that no other process changes it as a whole meanwhile."""
    owner = Owner(folder)
    try:
        yield
    finally:
        owner.let_go()


@contextmanager
def maintenance(folder: Path) -> Iterator[None]:
    """Have a store to oneself."""
    locks = folder / LOCKS
    try:
        locks.mkdir(parents=True, exist_ok=True)
        gate = FileLock(locks / GATE, timeout=QUICK, thread_local=False)
        gate.acquire()
    except Timeout:
        raise StoreError(
            f"{folder}: {_at_gate(locks)} is changing this store: wait for its end"
        ) from None
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        if owner := living_owner(folder):
            raise StoreError(
                f"{folder}: a run is using this store ({owner}): wait for its end, or end it first"
            )
        machine = Machine(folder)
        try:
            _describe(locks / GATE, _new_name())
            yield
        finally:
            machine.let_go()
    finally:
        with suppress(OSError):
            _description(locks / GATE).unlink(missing_ok=True)
        gate.release()


def living_owner(folder: Path) -> str:
    """A process that uses a store, in words; "" where none does."""
    for file in (folder / LOCKS).glob(f"*{ENDING}"):
        if is_locked(file):
            return _described(file) or "an unknown process"
    return ""


def owner_file(locks: Path, owner: str) -> Path:
    """The file that an owner keeps locked."""
    return locks / f"{owner.rpartition(':')[2]}{ENDING}"


def is_locked(file: Path) -> bool:
    """Whether a living process holds an owner's lock. The files of a dead process are removed."""
    if not file.exists():
        return False
    try:
        with FileLock(file, timeout=0):
            _remove(file)
    except (Timeout, PermissionError):  # it is locked, or another user's
        return True
    return False


def _description(file: Path) -> Path:
    # Opening a lock empties its file, so that the description needs one of its own.
    return file.with_suffix(PROCESS)


def _describe(file: Path, name: str) -> None:
    write_whole(_description(file), name.encode())


def _described(file: Path) -> str:
    """The process that holds a lock, in words; "" where it is not described."""
    try:
        name = _description(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return words(name) if name.count(":") > 1 else ""


def _at_gate(locks: Path) -> str:
    return _described(locks / GATE) or "another command"


def _sweep(locks: Path) -> None:
    """Remove what runs that were killed left, while no run uses the store."""
    for file in locks.iterdir():
        if OF_A_RUN.fullmatch(file.name):
            with suppress(OSError):
                file.unlink()


def _remove(file: Path) -> None:
    # Where the folder cannot be written any more, the next owner removes the files.
    with suppress(OSError):
        file.unlink(missing_ok=True)
        _description(file).unlink(missing_ok=True)
