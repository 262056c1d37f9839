"""The cost of a run's images: estimated before, counted meanwhile, reported at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import Money
from pytest_t2i.errors import BudgetSpentError, GenerationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.ready_made import is_ready_made
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.sections.words import several

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

    def before(self, images: int, say: Callable[[str], None]) -> str:
        """Cost of so many images, in words; notes a budget that does not pay for all of them."""
        left = self.spending.left
        if left is not None and left < images:
            say(f"the budget of {self.spending.budget} pays for {left} of {images} images")
        return f" for {self.spending.price.times(images)}"

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
        spent, more = self.spending.spent, self.spending.price.times(left)
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


@contextmanager
def within_budget(
    bill: Bill | None, work: Work, left: Callable[[], int], judge_price: Money | None
) -> Iterator[bool]:
    """Give whether images can be paid for; BudgetSpentError where some are left at the end."""
    if bill is None:
        yield True
        return
    try:
        yield not bill.spending.count.is_over  # another worker of the run may have spent it
    except GenerationError:
        if not bill.spending.count.is_over:
            raise
    finally:
        work.price, work.paid = str(bill.spending.price), bill.spending.count.requests
    if bill.spending.count.is_over and (images := left()):
        work.notes.append(bill.stopped(images, work.planned, judge_price))
        raise BudgetSpentError(work.notes[-1])


def unjudged_words(spending: Spending | None, left: int) -> str:
    """A note on what was spent when the budget ended while so many pictures were left to judge."""
    if spending is None:
        return f"{STOPPED}: {several(left, 'picture')} left to judge"
    more = spending.price.times(left)
    return (
        f"{STOPPED} of {spending.budget}: {spending.spent} spent, {several(left, 'picture')} left "
        f"to judge, which costs about {more}. What was judged is kept: the same command resumes "
        f'with --t2i-budget "{more}"'
    )
