"""What a comparison with a baseline says of itself."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Interval, Limit, Outcome, Verdict
from pytest_t2i.verdicts.baseline import RecordedRun, RecordedValue
from pytest_t2i.verdicts.baseline_file import Baseline

RUN = RecordedRun(Baseline("m", "mf", {}, {}, {}))
CHANGE = Interval(0.1, 0.0, 0.2, 0.9, "test", 5)
LIMIT = Limit("model_bias_score.margin", 0.05, "as measured")


def explained(margin, interval):
    verdict = Verdict(Outcome.INCONCLUSIVE, interval, LIMIT, message="by the interval")
    return RecordedValue(RUN, "model_bias_score", margin)._explained(verdict, "no image is clear")


@pytest.mark.parametrize(
    ("interval", "says"), [(CHANGE, "by the interval"), (None, "no image is clear")]
)
def test_only_where_nothing_can_be_compared_it_says_why(interval, says):
    assert explained(None, interval).message == says


@pytest.mark.parametrize(
    ("margin", "reason"),
    [
        (None, "as measured"),
        (Limit("model_bias_score.margin", 0.05), "as measured"),
        (Limit("model_bias_score.margin", 0.05, "our promise"), "our promise"),
    ],
)
def test_the_reason_is_that_of_the_limits_file_where_it_gives_one(margin, reason):
    assert explained(margin, CHANGE).limit.reason == reason


def test_it_names_the_model_and_the_margin():
    margin = Limit("model_bias_score.margin", 0.05)
    assert repr(RecordedValue(RUN, "model_bias_score", None)) == "baseline of m"
    assert repr(RecordedValue(RUN, "model_bias_score", margin)) == "baseline of m + margin 0.05"
