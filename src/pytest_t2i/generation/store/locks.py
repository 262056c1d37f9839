"""Who uses a store: runs beside each other, or one command that changes the store as a whole.

Every process that opens a store is an owner: it keeps a file of its own locked as long as it lives.
The operating system frees the lock when the process ends, however it ends. Commands such as prune
hold the gate, which every owner passes once when it starts, and refuse to begin while an owner
lives. Another machine, whose locks may be invisible here, is known by its note (``places``).
"""

from __future__ import annotations

import json
import os
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

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
STARTED = 19
"""Place of the start time in /proc/PID/stat, counted after the name of the program."""


class Process(NamedTuple):
    """A process as another one can recognise it, although process ids are used again."""

    name: str
    """Host, process id and a random number, with colons between them."""
    space: str
    """Start of the system and space of process ids; "" where there is no /proc."""
    started: str
    """Time at which the process started, in ticks of the system; "" where there is no /proc."""

    @property
    def pid(self) -> str:
        """The process id."""
        return self.name.split(":")[1]


def words(owner: str) -> str:
    """Process id and host of an owner, for messages."""
    host, pid, _ = (*owner.split(":"), "", "")[:3]
    return f"process {pid} on {host}"


def this_process() -> Process:
    """This process, with a new random number."""
    name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
    return Process(name, _space(), _started(str(os.getpid())))


class Owner:
    """This process as one that uses a store, until the process ends or lets go."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreError while a maintenance command works, or if the folder is read-only."""
        locks, self._process = folder / LOCKS, this_process()
        self.name = self._process.name
        self._lock = FileLock(owner_file(locks, self.name), thread_local=False)
        self._pid = os.getpid()
        try:
            locks.mkdir(parents=True, exist_ok=True)
            with FileLock(locks / GATE, timeout=PATIENCE):
                alive = [is_locked(file) for file in locks.glob(f"*{ENDING}")]
                if not any(alive):
                    _sweep(locks)
                _describe(Path(self._lock.lock_file), self._process)
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
            _describe(locks / GATE, this_process())
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
            process = _described(file)
            return "an unknown process" if process is None else words(process.name)
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
        process = _described(file)
        if process is None or not _is_dead(process):
            return True
        _remove(file)
    return False


def _is_dead(process: Process) -> bool:
    """Whether a process of this system has ended, although a child that it left holds its lock."""
    if not process.started or process.space != _space():
        return False
    return _started(process.pid) != process.started


def _space() -> str:
    """The start of this system and its space of process ids; "" where there is no /proc."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - no path
    except OSError:
        return ""


def _started(pid: str) -> str:
    """Start time of a living process; "" where there is none, or no /proc."""
    try:
        fields = Path(f"/proc/{int(pid)}/stat").read_text(errors="replace").rpartition(")")[2]
    except (OSError, ValueError):
        return ""
    state, *rest = fields.split()
    return "" if state in "ZX" else rest[STARTED - 1]


def _description(file: Path) -> Path:
    # Opening a lock empties its file, so that the description needs one of its own.
    return file.with_suffix(PROCESS)


def _describe(file: Path, process: Process) -> None:
    write_whole(_description(file), json.dumps(process).encode())


def _described(file: Path) -> Process | None:
    """The process that holds a lock; None where it is not described."""
    try:
        name, space, started = json.loads(_description(file).read_bytes())
    except (OSError, ValueError, TypeError):
        return None
    is_valid = all(isinstance(text, str) for text in (name, space, started))
    return Process(name, space, started) if is_valid and name.count(":") > 1 else None


def _at_gate(locks: Path) -> str:
    """The process that holds the gate, in words."""
    process = _described(locks / GATE)
    return "another command" if process is None else words(process.name)


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
