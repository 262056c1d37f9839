"""Count the failures of a service by kind, in a file that a run's processes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_t2i.adapters.support.shared_counts import SharedCounts

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "busy": "busy (HTTP 429)",
        "unavailable": "unavailable (HTTP 503)",
        "server error": "server error (HTTP 5xx)",
        "late": "no answer in time",
        "unfinished": "unfinished answer",
        "dropped": "broken connection",
        "unreachable": "no connection",
        "broken": "damaged or missing picture",
        "endless": "answer beyond the size limit",
        "refused": "refused by policy",
        "redirected": "redirect to another host",
        "aspect": "picture of another aspect",
        "final": "permanent error",
    }
)
"""Kind of a failure -> its description."""
OTHER = "final"
"""Kind of all failures that have no other kind."""


@dataclass(frozen=True, slots=True)
class FaultCounts:
    """Counts of failures by kind.

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
        """Kind -> count, without kinds that did not occur."""
        if not self.file.exists():
            return {}
        with self._shared.locked():
            return self._shared.read()

    def add(self, kind: str) -> None:
        """Count one failure."""
        with self._shared.locked():
            counts = self._shared.read()
            self._shared.write({**counts, kind: counts.get(kind, 0) + 1})

    def clear(self) -> None:
        """Remove the file at the end of the run."""
        self._shared.clear()

    @property
    def _shared(self) -> SharedCounts:
        return SharedCounts(self.file)


def fault_words(counts: Mapping[str, int]) -> str:
    """Counts of failures in words, the most frequent first.

    >>> fault_words({"dropped": 3, "busy": 12})
    'busy (HTTP 429): 12, broken connection: 3'
    """
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{KINDS.get(kind, kind)}: {count}" for kind, count in ordered)
