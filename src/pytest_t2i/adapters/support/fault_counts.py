"""How often a service failed in which way, counted in a file that a run's processes share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from filelock import FileLock

from pytest_t2i.files import write_whole

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "busy": "busy (HTTP 429)",
        "unavailable": "away (HTTP 503)",
        "server error": "error of the server (HTTP 5xx)",
        "late": "no answer in time",
        "unfinished": "answer that did not end in time",
        "dropped": "broken connection",
        "unreachable": "no connection",
        "broken": "broken picture, or none",
        "endless": "answer beyond the size limit",
        "refused": "refused by policy",
        "redirected": "redirect elsewhere",
        "final": "error that no asking again helps against",
    }
)
"""Kind of a fault -> how it is told."""
OTHER = "final"
"""What is of no other kind."""
LOOK_EVERY = 0.005
"""Seconds between looks at whether another process has done counting."""


@dataclass(frozen=True, slots=True)
class FaultCounts:
    """Counts by kind.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     counts = FaultCounts(Path(folder, "run.faults"))
    ...     counts.add("busy")
    ...     counts.add("busy")
    ...     counts.counted
    {'busy': 2}
    """

    file: Path

    @property
    def counted(self) -> dict[str, int]:
        """Kind -> times; without those that were not met."""
        if not self.file.exists():
            return {}
        with self._locked():
            return self._read()

    def add(self, kind: str) -> None:
        """One more."""
        with self._locked():
            counts = self._read()
            counts[kind] = counts.get(kind, 0) + 1
            write_whole(self.file, json.dumps(counts, sort_keys=True).encode())

    def clear(self) -> None:
        """The run is over: nothing is left of it."""
        self.file.unlink(missing_ok=True)
        self._lock_file.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self.file.with_name(f"{self.file.name}.lock")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._lock_file).acquire(poll_interval=LOOK_EVERY):
            yield

    def _read(self) -> dict[str, int]:
        try:
            counts: dict[str, int] = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        return counts


def fault_words(counts: Mapping[str, int]) -> str:
    """``busy (HTTP 429): 12, broken connection: 3``, the most frequent first.

    >>> fault_words({"dropped": 3, "busy": 12})
    'busy (HTTP 429): 12, broken connection: 3'
    """
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{KINDS.get(kind, kind)}: {count}" for kind, count in ordered)
