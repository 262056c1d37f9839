"""The cost of a command's images: estimated before, limited by the budget, reported after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_t2i.errors import BudgetSpentError, ConfigurationError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.session import Session

COST_OPTIONS = ("price", "budget")
"""The options that pytest calls ``--t2i-price`` and ``--t2i-budget``."""


def validate(session: Session) -> None:
    """Validate the names of a run; messages name ``--option``, not ``--t2i-option``."""
    try:
        session.validate()
    except ConfigurationError as error:
        raise ConfigurationError(str(error).replace("--t2i-", "--")) from None


@contextmanager
def paid(
    runner: Runner, images: int, say: Callable[[str], None], further: str = ""
) -> Iterator[None]:
    """Make paid images in this context, and report their cost where a price is known."""
    bill = runner.bill
    if bill is None:
        yield
        return
    say(f"at most {several(images, 'image')}{bill.before(images, say)}{further}")
    try:
        yield
    except BudgetSpentError:
        raise BudgetSpentError(
            f"stopped at the budget of {bill.spending.budget}: {bill.spending.spent} spent. "
            "Finished images are kept: the same command resumes from there, with a new --budget"
        ) from None
    finally:
        spent = bill.spending.spent
        pictures = several(runner.work.made, "image")
        say(f"spent {spent} for {several(bill.paid, 'request')}; {pictures} made")
