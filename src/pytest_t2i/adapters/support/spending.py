"""Count a run's requests to a model behind HTTP, and keep their cost within the budget.

Threads, the processes of an executor and the workers of xdist count in the same file, under a lock
and before each request, so that together they never exceed the budget.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pytest_t2i.adapters.support.shared_counts import SharedCounts
from pytest_t2i.data import Money
from pytest_t2i.errors import BudgetSpentError


@dataclass(frozen=True, slots=True)
class Count:
    """Content of the counter file."""

    requests: int = 0
    """Number of requests made, or about to be made."""
    is_over: bool = False
    """Whether a request was left out because the budget does not pay for it."""


@dataclass(frozen=True, slots=True)
class Spending:
    """The price of a request, and the number of requests paid for.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     spending = Spending(Path(folder, "run"), Money.read("2 USD"), Money.read("5 USD"))
    ...     spending.reserve()
    ...     spending.reserve()
    ...     str(spending.spent), spending.left
    ('4 USD', 0)
    """

    file: Path
    price: Money
    budget: Money | None = None

    @property
    def spent(self) -> Money:
        """Cost of the requests, as far as they may be charged."""
        return self.price.times(self.count.requests)

    @property
    def count(self) -> Count:
        """The counts so far."""
        with self._shared.locked():
            return self._read()

    @property
    def left(self) -> int | None:
        """Number of requests that the budget still pays for; None without a budget."""
        if self.budget is None:
            return None
        return max(self.budget.pays_for(self.price) - self.count.requests, 0)

    def reserve(self, requests: int = 1) -> None:
        """Count requests before they are made; BudgetSpentError where the budget is spent."""
        with self._shared.locked():
            count = self._read()
            after = replace(count, requests=count.requests + requests)
            if self.budget is not None and after.requests > self.budget.pays_for(self.price):
                self._write(replace(count, is_over=True))
                raise BudgetSpentError(f"the budget of {self.budget} is spent")
            self._write(after)

    def give_back(self) -> None:
        """Subtract a reserved request that was certainly not charged."""
        with self._shared.locked():
            count = self._read()
            self._write(replace(count, requests=count.requests - 1))

    def clear(self) -> None:
        """Remove the file at the end of the run."""
        self._shared.clear()

    @property
    def _shared(self) -> SharedCounts:
        return SharedCounts(self.file)

    def _read(self) -> Count:
        return Count(**self._shared.read())

    def _write(self, count: Count) -> None:
        self._shared.write(asdict(count))
