"""The cost of a run's images: estimated before, counted meanwhile, reported at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import Money
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.ready_made import is_ready_made

STOPPED = "stopped at the budget"
"""Beginning of the note that the budget is spent."""


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of the images that a runner has made.

    >>> from pathlib import Path
    >>> bill = Bill(Spending(Path("run"), Money.read("0.04 USD"), None), counts_itself=True)
    >>> bill.before(12, print)
    ' for 0.48 USD'
    """

    spending: Spending
    counts_itself: bool
    """Whether the model counts its requests itself; else each image counts as one."""

    @property
    def price(self) -> Money:
        """Price of one image."""
        return self.spending.price

    @property
    def paid(self) -> int:
        """Number of requests that were, or may have been, charged."""
        return self.spending.count.requests

    @property
    def is_over(self) -> bool:
        """Whether an image was left out because the budget does not pay for it."""
        return self.spending.count.is_over

    def of(self, images: int) -> Money:
        """Cost of so many images, with one request each."""
        return self.price.times(images)

    def before(self, images: int, say: Callable[[str], None]) -> str:
        """Cost of so many images, in words; notes a budget that does not pay for all of them."""
        left = self.spending.left
        if left is not None and left < images:
            say(f"the budget of {self.spending.budget} pays for {left} of {images} images")
        return f" for {self.of(images)}"

    def cannot_pay(self, requests: int, what: str) -> str:
        """A note where the budget does not pay for these requests and one picture; else ""."""
        left = self.spending.left
        if left is None or left > requests:
            return ""
        return (
            f"{what}: the budget of {self.spending.budget} does not pay for {requests} requests "
            "and a picture"
        )

    def made(self, images: int) -> None:
        """Count so many more images."""
        if not self.counts_itself:
            self.spending.reserve(images)

    def stopped(self, left: int, planned: int, judge_price: Money | None = None) -> str:
        """Return a note on what was spent, what is left, and how to resume."""
        spent, more = self.spending.spent, self.of(left)
        if judge_price is not None:
            more = Money(more.amount + judge_price.times(left).amount, more.currency)
        return (
            f"{STOPPED} of {self.spending.budget}: {spent} spent, {left} of {planned} "
            f"images are left, which cost about {more}. What was made is kept: the same command "
            f'resumes with --t2i-budget "{more}"'
        )


def bill_of(components: Components) -> Bill | None:
    """The bill of a run; None where no price is known, or where the images exist already."""
    spending = components.spending
    if spending is None or is_ready_made(components.model()):
        return None
    return Bill(spending, components.counts_requests)
