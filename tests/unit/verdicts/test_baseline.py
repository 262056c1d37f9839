"""A change read off two intervals."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.data import Interval, MetricInfo, Outcome
from pytest_t2i.verdicts.baseline import worsening
from pytest_t2i.verdicts.measurement import Change

HIGH = MetricInfo("cost", 0.0, 10.0, "higher", "")
LOW = MetricInfo("quality", 0.0, 10.0, "lower", "")


def known(middle, reach=0.1, n=50):
    return Interval(middle, middle - reach, middle + reach, 0.95, "", n)


@pytest.mark.parametrize(
    ("metric", "before", "after", "outcome"),
    [
        (HIGH, 1.0, 2.0, Outcome.FAIL),
        (HIGH, 2.0, 1.0, Outcome.PASS),
        (HIGH, 1.0, 1.2, Outcome.INCONCLUSIVE),
        (LOW, 2.0, 1.0, Outcome.FAIL),
        (LOW, 1.0, 2.0, Outcome.PASS),
    ],
)
def test_worse_is_what_the_metric_says(metric, before, after, outcome):
    change = worsening(metric, known(before), known(after), margin=0.2, level=0.95)
    assert change.verdict.outcome is outcome
    assert (change.before, change.after) == (before, after)
    assert change.interval.level == pytest.approx(0.9), "both sides of a one-sided 95 %"


def test_the_interval_covers_the_change_as_often_as_it_says():
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(2000):
        before, after = (
            known(m + rng.normal(scale=s / 1.96), s) for m, s in ((1.0, 0.1), (1.5, 0.3))
        )
        interval = worsening(HIGH, before, after, margin=0.0, level=0.95).interval
        held += 0.5 in interval
    assert abs(held / 2000 - 0.9) < 0.025


def test_nothing_to_compare_is_inconclusive_with_its_reason():
    change = Change.absent_because(HIGH, 0.1, "nothing is recorded of nurse")
    assert change.verdict.outcome is Outcome.INCONCLUSIVE
    assert change.verdict.message == change.absent == "nothing is recorded of nurse"


@pytest.mark.parametrize(
    ("margin", "p_value", "outcome", "decided_by"),
    [
        (None, None, "INCONCLUSIVE", "margin"),
        (None, 0.04, "FAIL", "permutation test"),
        (None, 0.06, "INCONCLUSIVE", "margin"),
        (0.3, 0.04, "PASS", "margin"),
    ],
)
def test_without_a_stated_margin_an_exact_test_of_any_worsening_decides(
    margin, p_value, outcome, decided_by
):
    own = Interval(0.1, 0.02, 0.18, 0.9, "mine", 40)
    change = worsening(
        HIGH, known(0.2), known(0.3), margin=margin, level=0.95, change=own, p_value=p_value
    )
    assert (change.interval, change.decided_by) == (own, decided_by)
    assert change.verdict.outcome.value == outcome
    assert change.verdict.limit.bound == (0.1 if margin is None else margin)
    assert change.fails_at_any_growth is (margin is None and p_value is not None)
