"""Counters that the processes of a run share: faults of servers, and money spent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pytest_t2i.data import Money
from pytest_t2i.errors import BudgetSpentError
from pytest_t2i.files import FileLock, write_whole

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


@dataclass(frozen=True, slots=True)
class Count:
    """Content of the counter file."""

    requests: int = 0
    """Number of requests made, or about to be made."""
    judged: int = 0
    """Number of requests to a judge of pictures, made or about to be made."""
    is_over: bool = False
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
    def spent(self) -> Money:
        """Cost of the requests of both kinds, as far as they may be charged."""
        return self._cost(self.count)

    @property
    def count(self) -> Count:
        """The counts so far."""
        with self._shared.locked():
            return self._read()

    @property
    def left(self) -> int | None:
        """Number of requests that the budget still pays for; None without a budget."""
        return None if self.budget is None else self._left(self.budget, self.count)

    def reserve(self, requests: int = 1) -> None:
        """Count requests before they are made; BudgetSpentError where the budget is spent."""
        with self._shared.locked():
            count = self._read()
            if self.budget is not None and requests > self._left(self.budget, count):
                self._write(replace(count, is_over=True))
                raise BudgetSpentError(f"the budget of {self.budget} is spent")
            self._write(self._more(count, requests))

    def give_back(self) -> None:
        """Subtract a reserved request that was certainly not charged."""
        with self._shared.locked():
            self._write(self._more(self._read(), -1))

    def clear(self) -> None:
        """Remove the file at the end of the run."""
        self._shared.clear()

    def _more(self, count: Count, requests: int) -> Count:
        if self.counts == "judged":
            return replace(count, judged=count.judged + requests)
        return replace(count, requests=count.requests + requests)

    def _cost(self, count: Count) -> Money:
        own, other = count.requests, count.judged
        if self.counts == "judged":
            own, other = other, own
        cost = self.price.times(own)
        if self.other_price is None:
            return cost
        return Money(cost.amount + self.other_price.times(other).amount, cost.currency)

    def _left(self, budget: Money, count: Count) -> int:
        rest = budget.amount - self._cost(count).amount
        return Money(max(rest, Decimal(0)), budget.currency).pays_for(self.price)

    @property
    def _shared(self) -> SharedCounts:
        return SharedCounts(self.file)

    def _read(self) -> Count:
        return Count(**self._shared.read())

    def _write(self, count: Count) -> None:
        self._shared.write(asdict(count))


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
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{KINDS.get(kind, kind)}: {count}" for kind, count in ordered)
