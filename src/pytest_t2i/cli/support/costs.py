"""Costs of a command's images: estimated before, limited by the budget, reported at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_t2i.errors import BudgetSpentError, ConfigurationError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.session import Session

COST_OPTIONS = ("price", "budget")
"""Options that pytest calls --t2i-price and --t2i-budget."""


def validate(session: Session) -> None:
    """Resolve every name of a run; messages name options as commands call them."""
    try:
        session.validate()
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace("--t2i-", "--")) from None


@contextmanager
def paid(
    runner: Runner, images: int, say: Callable[[str], None], further: str = ""
) -> Iterator[None]:
    """A context for paid images, which reports their cost where a price is known.

    Args:
        runner: makes the images; the context does not close it.
        images: largest number of images.
        say: shows a note to the user.
        further: note on further costs.

    Raises BudgetSpentError, in one line, where the budget pays for no further request.
    """
    bill = runner.bill
    if bill is None:
        yield
        return
    say(f"at most {several(images, 'image')}{bill.before(images, say)}{further}")
    try:
        yield
    except BudgetSpentError:
        raise BudgetSpentError(
            f"stopped at the budget of {bill.spending.budget}: {bill.spending.spent} spent. What "
            "was made is kept: the same command goes on from there, with a --budget of its own"
        ) from None
    finally:
        spent = bill.spending.spent
        made = several(runner.work.made, "image")
        say(f"spent {spent} for {several(bill.paid, 'request')}; {made} made")
