"""What a whole run comes to."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.runs.record import Check, RunRecord

PASS, FAIL, OPEN = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE


def check(outcome, subject="profession-nurse"):
    return Check("t", "m", subject, outcome, 0.1, 0.0, 0.2, 0.95, "x", 9, "<=", 0.5)


@pytest.mark.parametrize(
    ("checks", "otherwise", "outcome"),
    [
        ([], (), OPEN),
        ([check(PASS), check(OPEN)], (), PASS),
        ([check(PASS), check(OPEN), check(OPEN)], (), OPEN),
        ([check(PASS, "model"), check(OPEN), check(OPEN)], (), PASS),
        ([check(OPEN, "model in image space"), check(PASS), check(PASS)], (), OPEN),
        ([check(PASS), check(FAIL)], (), FAIL),
        ([check(PASS)], ("test_a",), FAIL),
    ],
)
def test_outcome(checks, otherwise, outcome):
    record = RunRecord("", 0.0, "m", {}, {}, {}, tuple(checks), failed_otherwise=otherwise)
    assert record.outcome is outcome
