"""What a run spends: never more than its budget pays for, whoever counts at the same time."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import Money
from pytest_t2i.errors import BudgetSpentError

PRICE = Money.read("0.04 USD")


@pytest.fixture
def spending(tmp_path):
    return Spending(tmp_path / "locks" / "run.spent", PRICE, Money.read("1 USD"))


def reserved(spending, times):
    """How many of so many requests could be paid for."""
    paid = 0
    for _ in range(times):
        try:
            spending.reserve()
        except BudgetSpentError:
            continue
        paid += 1
    return paid


def test_threads_together_pay_for_no_more_than_the_budget(spending):
    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(reserved, [spending] * 6, [10] * 6)) == 25
    assert spending.count.is_over
    assert str(spending.spent) == "1 USD"


COUNTING = """
import sys
from pathlib import Path
from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import Money
from pytest_t2i.errors import BudgetSpentError
spending, paid = Spending(Path(sys.argv[1]), Money.read("0.04 USD"), Money.read("1 USD")), 0
for _ in range(15):
    try:
        spending.reserve()
        paid += 1
    except BudgetSpentError:
        pass
print(paid)
"""


def test_processes_together_do_not_either(spending):
    command = [sys.executable, "-c", COUNTING, str(spending.file)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sum(int(one.communicate()[0]) for one in running) == 25


def test_what_is_given_back_pays_for_another_request(spending):
    assert reserved(spending, 25) == 25
    assert spending.left == 0
    spending.give_back()
    assert spending.left == 1
    assert reserved(spending, 2) == 1


def test_nothing_is_left_after_the_run(spending):
    spending.reserve()
    spending.clear()
    assert list(spending.file.parent.iterdir()) == []


def test_amounts_are_exact():
    third = Money.read("0.1 USD").times(3)
    assert third.amount == Decimal("0.3")
    assert Money.read("0.3 USD").pays_for(Money.read("0.1 USD")) == 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [("5.00 usd", "5 USD"), ("0.040EUR", "0.04 EUR"), ("0.5 USD", "0.50 USD"),
     ("100 JPY", "100 JPY"), ("0.0035 USD", "0.0035 USD")],
)  # fmt: skip
def test_how_an_amount_is_shown(text, shown):
    assert str(Money.read(text)) == shown
