"""What the images of a run cost: said before, counted while they are made, told at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_t2i.adapters.support.spending import Spending
from pytest_t2i.data import Money
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.ready_made import is_ready_made

STOPPED = "stopped at the budget"
"""Begins what is said where no money is left."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What a runner pays for images.

    >>> from pathlib import Path
    >>> bill = Bill(Spending(Path("run"), Money.read("0.04 USD"), None), counts_itself=True)
    >>> bill.before(12, print)
    ' for 0.48 USD'
    """

    spending: Spending
    counts_itself: bool
    """Whether the model counts each of its requests; else each image is one."""
    is_shared: bool = False
    """Whether other workers of the run count in the same file."""

    @property
    def price(self) -> Money:
        """Of one image."""
        return self.spending.price

    @property
    def paid(self) -> int:
        """Requests that were, or may have been, charged."""
        return self.spending.count.requests

    @property
    def is_over(self) -> bool:
        """Whether an image was not asked for because the budget does not pay for it."""
        return self.spending.count.is_over

    def of(self, images: int) -> Money:
        """What so many images cost, each asked for once."""
        return self.price.times(images)

    def before(self, images: int, say: Callable[[str], None]) -> str:
        """What so many will cost, in words; where the budget does not pay for them that is told."""
        left = self.spending.left
        if left is not None and left < images:
            say(f"the budget of {self.spending.budget} pays for {left} of {images} images")
        return f" for {self.of(images)}"

    def cannot_pay(self, requests: int, what: str) -> str:
        """That no money is left for these requests and a picture, as a line; "" where there is.

        ``what`` is left out then, such as "the seeds are not tried".
        """
        left = self.spending.left
        if left is None or left > requests:
            return ""
        return (
            f"{what}: the budget of {self.spending.budget} does not pay for {requests} requests "
            "and a picture"
        )

    def made(self, images: int) -> None:
        """So many images more are made."""
        if not self.counts_itself:
            self.spending.reserve(images)

    def close(self) -> None:
        """No more is paid for, unless others go on."""
        if not self.is_shared:
            self.spending.clear()

    def stopped(self, left: int, planned: int) -> str:
        """How far the budget reached, and what goes on from there."""
        spent, more = self.spending.spent, self.of(left)
        return (
            f"{STOPPED} of {self.spending.budget}: {spent} spent, {left} of {planned} "
            f"images are left, which cost about {more}. What was made is kept: the same command "
            f'goes on with --t2i-budget "{more}"'
        )


def bill_of(components: Components) -> Bill | None:
    """What a run pays for images; None where no price is known, or they are there already."""
    spending = components.spending
    if spending is None or is_ready_made(components.model()):
        return None
    return Bill(spending, components.counts_requests, components.run_id is not None)
