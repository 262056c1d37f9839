"""One counter that the processes of a run share: requests paid for, and failures of servers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from pytest_t2i.data import Money
from pytest_t2i.errors import BudgetSpentError
from pytest_t2i.files import FileLock, write_whole

LOOK_EVERY = 0.005
"""Seconds between attempts to get the lock."""
IS_OVER = "over"
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
class RunCounts:
    """Counts by name in a file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     counts = RunCounts(Path(folder, "run"))
    ...     counts.add("busy")
    ...     counts.add("busy")
    ...     counts.faults
    {'busy': 2}
    """

    file: Path

    @contextmanager
    def locked(self) -> Iterator[dict[str, int]]:
        """Hold the lock of the file, whose changed counts are written at the end."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._lock_file).acquire(poll_interval=LOOK_EVERY):
            counts: dict[str, int] = {}
            with suppress(FileNotFoundError):
                counts = json.loads(self.file.read_bytes())
            before = dict(counts)
            try:
                yield counts
            finally:
                if counts != before:
                    write_whole(self.file, json.dumps(counts, sort_keys=True).encode())

    def add(self, name: str, number: int = 1) -> None:
        with self.locked() as counts:
            counts[name] = counts.get(name, 0) + number

    @property
    def faults(self) -> dict[str, int]:
        """Kind of a failure -> count, without kinds that did not occur."""
        if not self.file.exists():
            return {}
        with self.locked() as counts:
            return {name: number for name, number in counts.items() if name in KINDS}

    def clear(self) -> None:
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self._lock_file.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self.file.with_name(f"{self.file.name}.lock")


class Count(NamedTuple):
    """What was paid for."""

    requests: int
    """Number of requests for pictures made, or about to be made."""
    judged: int
    """Number of requests to a judge of pictures, made or about to be made."""
    is_over: bool
    """Whether a request was left out because the budget does not pay for it."""


@dataclass(frozen=True, slots=True)
class Spending:
    """The price of a request, and the number of requests paid for.

    Requests for pictures and requests to a judge have prices of their own and one budget.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     making = Spending(Path(folder, "run"), Money.read("2 USD"), Money.read("5 USD"))
    ...     price = Money.read("1 USD")
    ...     judging = Spending(making.file, price, making.budget, "judged", making.price)
    ...     making.reserve()
    ...     judging.reserve()
    ...     str(judging.spent), making.left, judging.left
    ('3 USD', 1, 2)
    """

    file: Path
    price: Money
    budget: Money | None = None
    counts: Literal["requests", "judged"] = "requests"
    """The requests of this price."""
    other_price: Money | None = None
    """Price of the requests that the other counter of the file counts; None where there is none."""

    @property
    def count(self) -> Count:
        with self._shared.locked() as counts:
            return Count(counts.get("requests", 0), counts.get("judged", 0), IS_OVER in counts)

    @property
    def spent(self) -> Money:
        """Cost of the requests of both kinds, as far as they may be charged."""
        with self._shared.locked() as counts:
            return self._cost(counts)

    @property
    def left(self) -> int | None:
        """Number of requests that the budget still pays for; None without a budget."""
        with self._shared.locked() as counts:
            return self._left(counts)

    def reserve(self, requests: int = 1) -> None:
        """Count requests before they are made; BudgetSpentError where the budget is spent."""
        with self._shared.locked() as counts:
            left = self._left(counts)
            if left is not None and requests > left:
                counts[IS_OVER] = 1
                raise BudgetSpentError(f"the budget of {self.budget} is spent")
            counts[self.counts] = counts.get(self.counts, 0) + requests

    def give_back(self) -> None:
        """Subtract a reserved request that was certainly not charged."""
        self._shared.add(self.counts, -1)

    def clear(self) -> None:
        """Remove the file at the end of the run."""
        self._shared.clear()

    @property
    def _shared(self) -> RunCounts:
        return RunCounts(self.file)

    def _cost(self, counts: Mapping[str, int]) -> Money:
        other_count = "requests" if self.counts == "judged" else "judged"
        cost = self.price.times(counts.get(self.counts, 0))
        if self.other_price is None:
            return cost
        more = self.other_price.times(counts.get(other_count, 0))
        return Money(cost.amount + more.amount, cost.currency)

    def _left(self, counts: Mapping[str, int]) -> int | None:
        if self.budget is None:
            return None
        rest = self.budget.amount - self._cost(counts).amount
        return Money(max(rest, Decimal(0)), self.budget.currency).pays_for(self.price)


def fault_words(counts: Mapping[str, int]) -> str:
    """Counts of failures in words, the most frequent first.

    >>> fault_words({"dropped": 3, "busy": 12})
    'busy (HTTP 429): 12, broken connection: 3'
    """
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{KINDS.get(kind, kind)}: {count}" for kind, count in ordered)
