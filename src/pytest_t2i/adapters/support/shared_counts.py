"""A small JSON file of counts that threads, executors' processes and xdist's workers share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from pytest_t2i.files import write_whole

LOOK_EVERY = 0.005
"""Seconds between attempts to get the lock."""


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """Counts by name in a shared file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     counts = SharedCounts(Path(folder, "run"))
    ...     with counts.locked():
    ...         counts.write({**counts.read(), "busy": 1})
    ...         counts.read()
    {'busy': 1}
    """

    file: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._lock_file).acquire(poll_interval=LOOK_EVERY):
            yield

    def read(self) -> dict[str, Any]:
        """The counts; {} before the first one."""
        try:
            counts: dict[str, Any] = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        return counts

    def write(self, counts: dict[str, Any]) -> None:
        """Write the counts atomically."""
        write_whole(self.file, json.dumps(counts, sort_keys=True).encode())

    def clear(self) -> None:
        """Remove the file at the end of the run."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self._lock_file.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self.file.with_name(f"{self.file.name}.lock")
