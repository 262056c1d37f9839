"""A small JSON file in which threads, executors' processes and xdist's workers count together."""

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
"""Seconds between looks at whether another one has done counting."""


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """Plain counts by name.

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
        """Nobody else reads or writes meanwhile."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._lock_file).acquire(poll_interval=LOOK_EVERY):
            yield

    def read(self) -> dict[str, Any]:
        """What stands there; {} before anything was counted."""
        try:
            counts: dict[str, Any] = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        return counts

    def write(self, counts: dict[str, Any]) -> None:
        """Whole, or not at all."""
        write_whole(self.file, json.dumps(counts, sort_keys=True).encode())

    def clear(self) -> None:
        """The run is over: nothing is left of it."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self._lock_file.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self.file.with_name(f"{self.file.name}.lock")
