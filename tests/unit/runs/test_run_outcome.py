"""What a whole run comes to."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.runs.record.record import Check, RunRecord

PASS, FAIL, OPEN = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE


def check(outcome, subject="profession-nurse"):
    of_model = subject.partition(" ")[0] == "model"
    return Check(
        "t", "m", subject, outcome, 0.1, 0.0, 0.2, 0.95, "x", 9, "<=", 0.5, is_of_model=of_model
    )


@pytest.mark.parametrize(
    ("checks", "otherwise", "outcome"),
    [
        ([], (), Outcome.MEASURED),
        ([], ("test_a",), FAIL),
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


@pytest.mark.parametrize(
    ("checks", "policies", "is_set"),
    [
        ([check(PASS), check(OPEN), check(OPEN)], ("pass", "status"), True),
        ([check(OPEN, "detector clip")], ("pass", "status"), True),
        ([check(OPEN)], ("pass", "fail"), True),
        ([check(OPEN)], ("pass", "pass"), False),
        ([check(OPEN)], ("estimate", "estimate"), False),
        ([check(PASS), check(OPEN)], ("pass", "status"), False),
        ([check(PASS, "model"), check(OPEN), check(OPEN)], ("pass", "status"), False),
        ([check(OPEN, "model")], ("pass", "status"), True),
        ([check(OPEN, "model")], ("pass", "pass"), False),
        ([check(PASS), check(OPEN)], ("status", "status"), True),
        ([], ("pass", "status"), False),
        ([check(OPEN)], (), False),
    ],
)
def test_a_run_that_is_headed_inconclusive_sets_the_status(checks, policies, is_set):
    record = RunRecord("", 0.0, "m", {"inconclusive": list(policies)}, {}, {}, tuple(checks))
    assert record.sets_status is is_set
