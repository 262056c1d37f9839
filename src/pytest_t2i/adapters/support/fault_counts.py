"""How often a service failed in which way, counted in a file that a run's processes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_t2i.adapters.support.shared_counts import SharedCounts

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
        with self._shared.locked():
            return self._shared.read()

    def add(self, kind: str) -> None:
        """One more."""
        with self._shared.locked():
            counts = self._shared.read()
            self._shared.write({**counts, kind: counts.get(kind, 0) + 1})

    def clear(self) -> None:
        """The run is over: nothing is left of it."""
        self._shared.clear()

    @property
    def _shared(self) -> SharedCounts:
        return SharedCounts(self.file)


def fault_words(counts: Mapping[str, int]) -> str:
    """``busy (HTTP 429): 12, broken connection: 3``, the most frequent first.

    >>> fault_words({"dropped": 3, "busy": 12})
    'busy (HTTP 429): 12, broken connection: 3'
    """
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{KINDS.get(kind, kind)}: {count}" for kind, count in ordered)
