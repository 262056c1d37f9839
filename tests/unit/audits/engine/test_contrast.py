"""Contrasts of values by hand: estimators, unknown values, worst cases, families."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from pytest_t2i.audits.engine.contrast import Contrast, ContrastAudit, Unit, Units
from pytest_t2i.audits.engine.detected import Siblings
from pytest_t2i.audits.engine.estimators import ESTIMATORS
from pytest_t2i.data import Limit, MetricInfo, Outcome, Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.verdicts.judge_measurement import verdict_of

NAN = math.nan
HEIGHT = MetricInfo("height_gap", -10.0, 10.0, "away_from_zero", "tests")
TALL = MetricInfo("height_higher", 0.0, 10.0, "higher", "tests")
LOW = MetricInfo("height_lower", 0.0, 10.0, "lower", "tests")
SIGNED = MetricInfo("height_signed", -10.0, 10.0, "higher", "tests")
METRICS_OF_THE_MODULE = (HEIGHT, TALL, LOW, SIGNED)
GAP = Contrast("height_gap", ("a", "b"), unknown=(0.0, 10.0))


def unit(word, **arms):
    return Unit(Prompt(word, "job", word), arms, 0.95)


def units(*members, **more):
    return Units(members, 0.95, **more)


def outcome(measurement, bound):
    limit = Limit(measurement.metric.name, bound)
    return verdict_of(measurement, limit, 0.95).outcome


def test_a_gap_is_the_mean_over_units_of_pairs_with_two_known_values():
    gap = units(unit("x", a=[5, NAN, 3], b=[1, 2, 1]), unit("y", a=[2, 2], b=[NAN, 1]))
    assert gap.measured(GAP).estimate == pytest.approx((3.0 + 1.0) / 2)
    assert gap.images == 5


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_is_signed_and_needs_a_value(name):
    arms = ("a",) if name.startswith("share") else ("a", "b")
    contrast = Contrast("height_gap", arms, name, unknown=None)
    both = units(*(unit(f"w{k}", a=[1.0] * 20, b=[0.0] * 19 + [1.0]) for k in range(3)))
    assert both.estimated(contrast).estimate == pytest.approx(1.0 if len(arms) == 1 else 0.95)
    for nothing in (units(), units(unit("x", a=[], b=[])), units(unit("x", a=[NAN], b=[NAN]))):
        measured = nothing.measured(contrast)
        assert measured.interval is None
        assert outcome(measured, 0.1) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize("lost", [1, 30])
def test_a_verdict_holds_whatever_unknown_values_are(lost):
    rows = [5.0, 5.5, 4.5] * 20
    full = units(unit("x", a=rows, b=rows))
    holed = units(unit("x", a=[NAN] * lost + rows[lost:], b=rows))
    assert outcome(full.measured(GAP), 2.0) is Outcome.PASS
    expected = Outcome.PASS if lost == 1 else Outcome.INCONCLUSIVE
    measured = holed.measured(GAP)
    assert outcome(measured, 2.0) is expected
    low, high = (sum(end - b for b in rows[:lost]) / 60 for end in (0.0, 10.0))
    assert (measured.worst_case.low, measured.worst_case.high) == pytest.approx((low, high))
    assert measured.worst_case.undetected == pytest.approx(lost / 120)


def test_unknown_values_up_to_the_stated_share_are_like_the_rest():
    rows = [5.0, 5.5, 4.5] * 20
    holed = [NAN] * 12 + rows[12:]
    strict, alike = (units(unit("x", a=holed, b=rows), alike=share) for share in (0.1, 0.3))
    assert outcome(strict.measured(GAP), 1.0) is Outcome.INCONCLUSIVE
    assert outcome(alike.measured(GAP), 1.0) is Outcome.PASS


def test_unknown_values_that_are_left_out_are_said():
    contrast = Contrast("height_gap", ("a", "b"), unknown=None)
    measured = units(unit("x", a=[1.0, NAN, 2.0], b=[NAN, 1.0, 1.0])).measured(contrast)
    assert measured.remarks == ("2 images without a value left out",)
    assert measured.worst_case is None


@pytest.mark.parametrize(("metric", "bound"), [("height_higher", 4.0), ("height_lower", 6.0)])
def test_one_arm_is_judged_by_its_metrics_direction(metric, bound):
    beyond, within = (
        units(unit("x", a=[value] * 100)).measured(Contrast(metric, ("a",), unknown=None))
        for value in ((5.0, 3.0) if metric == "height_higher" else (5.0, 7.0))
    )
    assert outcome(beyond, bound) is Outcome.FAIL
    assert outcome(within, bound) is Outcome.PASS


def test_units_of_one_test_share_an_error_level():
    siblings = Siblings([], [])
    members = [
        Unit(Prompt(f"w{k}", "job", f"w{k}"), {"a": [9.0] * 60 if k == 0 else [5.0, 5.2] * 30,
        "b": [1.0] * 60 if k == 0 else [5.1] * 60}, 0.95, siblings)
        for k in range(20)
    ]  # fmt: skip
    siblings.members, siblings.ids = members, [member.id for member in members]
    first, second = (member.measured(GAP) for member in members[:2])
    assert first.family is second.family
    assert (first.place, second.place) == (0, 1)
    assert outcome(first, 3.0) is Outcome.FAIL
    assert outcome(second, 8.0) is Outcome.PASS


@pytest.mark.parametrize("worse", ["higher", "lower"])
def test_a_gap_whose_sign_is_worse_is_refused(worse):
    class Signed(ContrastAudit):
        name = fixture = "signed"
        contrast = Contrast({"higher": SIGNED, "lower": LOW}[worse].name, ("a", "b"))

    test = SimpleNamespace(selection=SimpleNamespace(fixtures={"signed"}))
    with pytest.raises(ConfigurationError, match=f"worse='away_from_zero', got '{worse}'"):
        Signed().check(None, test)
