"""What every caveat keeps, whichever it is: a remark flips nothing, a void leaves nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_t2i import limit
from pytest_t2i.data import Bounds, Evidence, Interval, Limit, Outcome, Verdict
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.detector_errors import ErrorRates
from pytest_t2i.verdicts.baseline import RecordedRun, worsening
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.caveats.built_in import BUILT_IN
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats
from pytest_t2i.verdicts.caveats.run_level import LevelShare, RunLevel
from pytest_t2i.verdicts.caveats.seams import LevelPart, Levels, Question, Remark
from pytest_t2i.verdicts.check import JudgingContext, running
from pytest_t2i.verdicts.judge_measurement import verdict_of
from pytest_t2i.verdicts.measurement import Change, Measurement
from pytest_t2i.verdicts.reach_verdict import Found, at_levels, reach

SCORE = INFO["model_bias_score"]
shares = st.floats(0.0, 1.0)


@st.composite
def measurements(draw):
    low, estimate, high = sorted(draw(st.tuples(shares, shares, shares)))
    worst = sorted(draw(st.tuples(shares, shares)))
    evidence = Evidence(draw(shares), draw(shares), draw(st.none() | st.tuples(shares, shares)))
    return Measurement(
        SCORE,
        "model",
        Interval(estimate, low, high, 0.9, "test", 20),
        images=20,
        evidence=lambda _bound, _level: evidence,
        worst_case=draw(st.none() | st.just(Bounds(*worst, draw(shares)))),
        despite_repeats=draw(st.sampled_from([None, "nurse"])),
        is_of_model=True,
    )


class KnownRun:
    """A run that knows of errors of the detector, and of an earlier look."""

    def __init__(self, rate=0.1, because=""):
        self.rates = ErrorRates((0.0, rate), (0.0, rate))
        self.because = because

    def certificate(self):
        return None

    def certificate_file(self):
        raise AssertionError

    judge = abstained = certificate_file

    def certified(self, measurement):
        return self.rates, "all images"

    def earlier_looks(self, metric, against, bound):
        return [SimpleNamespace(seed=1, images=10)]

    def why_seeds_prevent_verdict(self):
        return self.because


class Loud:
    def remark(self, question, verdict):
        return Caveat("loud", f"{question.measurement.subject} {verdict.outcome}", {"lacks": "all"})


@given(measurements(), st.floats(0.05, 0.95), st.floats(0.0, 0.45))
def test_a_remark_flips_no_outcome(measurement, bound, rate):
    question = Question(measurement, "limit", bound, run=KnownRun(rate))
    limit_ = Limit(SCORE.name, bound)
    plain = verdict_of(measurement, limit_, 0.95)
    found = reach(
        question, (*BUILT_IN, Loud()), lambda m, level: Found(verdict_of(m, limit_, level))
    )
    assert found.caveats[-1].name == "loud"
    assert sum(isinstance(caveat, Remark) for caveat in BUILT_IN) >= 4
    same = ("outcome", "interval", "p_value", "message", "limit")
    assert all(getattr(found.verdict, name) == getattr(plain, name) for name in same)


@given(measurements(), st.floats(0.05, 0.95))
def test_a_voided_check_has_no_estimate(measurement, bound):
    limit_ = Limit(SCORE.name, bound)

    def decide(measured, level):
        return Found(verdict_of(measured, limit_, level))

    run = KnownRun(because="seeds are shared")
    for question, more, because in (
        (Question(measurement, "limit", bound, run=run), (), "seeds are shared"),
        (Question(measurement, "limit", bound), (Never(),), "never"),
    ):
        found = reach(question, (*BUILT_IN, *more), decide)
        assert (found.verdict.interval, found.verdict.p_value) == (None, None)
        assert found.verdict.outcome is Outcome.INCONCLUSIVE
        assert found.verdict.message == because
        assert found.verdict.images_to_decide is None


class Never:
    def void(self, question):
        return "never"


@pytest.fixture
def judged():
    """The checks of comparisons in a test whose run has one level for three comparisons."""
    checks = []
    share = LevelShare(RunLevel(0.95, 3), 3)
    context = JudgingContext("t", {}, None, ("pass", "pass"), 0.95, checks.append, share)

    def judge(*more):
        running.set(replace(context, caveats=(*BUILT_IN, *more)))

    before = running.set(context)
    yield checks, share, judge
    running.reset(before)


def change_of(baseline, margin, level):
    before, after = (Interval(x, x - 0.1, x + 0.1, 0.95, "test", 9) for x in (0.2, 0.3))
    return worsening(SCORE, before, after, margin=margin, level=level)


def a_run(against="baseline", anchor=None):
    recorded = Baseline("m", "f", {}, {}, {}, "", 0, 20)
    return RecordedRun(recorded, (), against, anchor)


@pytest.mark.parametrize("more", [(), (Never(),)])
def test_two_comparisons_spend_two_shares_whatever_they_reach(judged, more):
    checks, share, judge = judged
    judge(*more)
    measurement = Measurement(
        SCORE, "model", Interval(0.3, 0.1, 0.5, 0.9, "test", 20), change=change_of
    )
    assert measurement <= limit(SCORE.name, 0.5)
    assert measurement <= a_run(anchor=a_run("anchor"))(SCORE.name)
    assert [check.against for check in checks] == ["limit", "baseline", "anchor"]
    assert {check.estimate is None for check in checks} == {bool(more)}
    assert share.spend().level == 1.0, "the third comparison was the last that is counted"


def test_parts_of_an_uncounted_test_add_up_to_one():
    share = LevelShare(RunLevel(0.95, 1), None)
    spent = sum(1.0 - share.spend().level for _ in range(30))
    assert 0.0499 < spent <= 0.05


@pytest.mark.parametrize(
    ("to_fail", "fails_at", "outcome", "held"),
    [
        (None, 0.96, Outcome.FAIL, ""),
        (0.99, 0.999, Outcome.FAIL, ""),
        (0.99, 0.98, Outcome.INCONCLUSIVE, "held"),
        (1.0, 0.999, Outcome.FAIL, "held"),
    ],
)
def test_a_fail_needs_the_stricter_level(to_fail, fails_at, outcome, held):
    def decide(level):
        fails = level <= fails_at
        outcome = Outcome.FAIL if fails else Outcome.INCONCLUSIVE
        return Found(Verdict(outcome, None, Limit("x", 0.5)))

    found, why = at_levels(Levels(0.95, to_fail, "held"), decide)
    assert (found.verdict.outcome, why) == (outcome, held)


def test_a_fail_that_the_run_does_not_allow_is_inconclusive():
    seen = Measurement(SCORE, "model", Interval(0.7, 0.6, 0.8, 0.9, "test", 20))
    limit_ = Limit(SCORE.name, 0.5)
    found = reach(
        Question(seen, "limit", 0.5, part=LevelPart(1.0, "one level")),
        BUILT_IN,
        lambda m, level: Found(verdict_of(m, limit_, level)),
    )
    assert found.verdict.outcome is Outcome.INCONCLUSIVE
    assert found.verdict.message.startswith("worse at 95%, but the test makes more comparisons")


def test_pictures_that_repeat_leave_a_prompt_without_a_verdict_now_and_against_a_run():
    class Pictures:
        def repeats(self):
            return {"a nurse": Repeats(20, 10, 0), "a pilot": Repeats(200, 200, 0)}

        def texts_of(self, subject):
            return {"w-nurse": {"a nurse"}, "w-pilot": {"a pilot"}}.get(subject)

        def name_of(self, text):
            return text.rpartition(" ")[2]

    def decide(measured, level):
        verdict = Verdict(Outcome.PASS, measured.interval, Limit(SCORE.name, 0.5))
        return Found(verdict, Change(verdict, measured.interval, ""))

    seen = Measurement(SCORE, "w-nurse", Interval(0.1, 0.0, 0.2, 0.9, "test", 20))
    model = replace(seen, subject="model", is_of_model=True, despite_repeats="nurse")
    for measurement, against, is_void in (
        (seen, "limit", True),
        (seen, "baseline", True),
        (replace(seen, subject="w-pilot"), "limit", False),
        (model, "limit", False),
        (model, "baseline", True),
        (replace(model, despite_repeats=None), "limit", True),
        (replace(model, despite_repeats=""), "baseline", False),
    ):
        found = reach(Question(measurement, against, 0.5, run=Pictures()), BUILT_IN, decide)
        assert bool(found.question.measurement.absent) is is_void
