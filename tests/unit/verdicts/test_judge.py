"""From interval and limit to a verdict."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_t2i.data import TIE, Bounds, Evidence, Interval, Limit, Outcome, Verdict
from pytest_t2i.metrics import INFO
from pytest_t2i.verdicts import judge as verdicts
from pytest_t2i.verdicts.caveats.seams import Question
from pytest_t2i.verdicts.caveats.undetected import UndetectedImages
from pytest_t2i.verdicts.images_to_decide import more_by_interval
from pytest_t2i.verdicts.measurement import Measurement

PASS, FAIL, OPEN = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE


def interval(low: float, high: float, n: int = 20) -> Interval:
    return Interval((low + high) / 2, low, high, 0.95, "test", n)


@pytest.mark.parametrize(
    ("low", "high", "worse", "outcome"),
    [
        (0.1, 0.3, "higher", PASS),
        (0.1, 0.5, "higher", PASS),
        (0.4, 0.6, "higher", OPEN),
        (0.5, 0.6, "higher", OPEN),
        (0.51, 0.6, "higher", FAIL),
        (0.6, 0.7, "lower", PASS),
        (0.4, 0.6, "lower", OPEN),
        (0.1, 0.4, "lower", FAIL),
        (-0.4, 0.4, "away_from_zero", PASS),
        (-0.9, 0.9, "away_from_zero", OPEN),
        (-0.9, -0.6, "away_from_zero", FAIL),
        (0.6, 0.9, "away_from_zero", FAIL),
        (-0.6, 0.1, "away_from_zero", OPEN),
        # as printed, with three digits, these hold the limit
        (0.50049, 0.6, "higher", OPEN),
        (0.50051, 0.6, "higher", FAIL),
        (0.1, 0.49951, "lower", OPEN),
        (-0.9, -0.5004, "away_from_zero", OPEN),
    ],
)
def test_compare(low: float, high: float, worse: str, outcome: Outcome) -> None:
    assert verdicts.compare(interval(low, high), 0.5, worse) is outcome  # type: ignore[arg-type]


NEAR = st.integers(-1000, 1000).map(lambda k: k / 1e6) | st.floats(-0.5, 0.5)


@given(st.sampled_from(sorted(INFO)), st.sampled_from([0.1, 0.3, 0.55, 0.9]), NEAR, NEAR)
def test_no_verdict_of_any_metric_has_a_printed_interval_that_holds_its_limit(
    name: str, bound: float, one: float, other: float
) -> None:
    worse = INFO[name].worse
    low, high = sorted((bound + one, bound + other))
    verdict = verdicts.judge(interval(low, high), Limit(name, bound), worse)
    printed = re.search(r"\[(.+), (.+)\]", verdict.message)
    assert printed is not None
    ends = sorted(map(float, printed.groups()))
    shown = verdicts.folded(interval(*ends), worse)
    if verdict.outcome is PASS:
        assert shown.low >= bound if worse == "lower" else shown.high <= bound
    if verdict.outcome is FAIL:
        assert shown.high < bound if worse == "lower" else shown.low > bound


@pytest.mark.parametrize(
    ("beyond", "within", "outcome"),
    [
        (0.05, 1.0, FAIL),
        (1.0 - 0.95 + TIE, 1.0, FAIL),
        (1.0, 1.0 - 0.95 + TIE, PASS),
        (0.051, 0.05, PASS),
        (0.051, 0.051, OPEN),
        (0.01, 0.01, FAIL),  # both at once cannot be; the worse is said
        (None, 0.01, PASS),
        (0.01, None, FAIL),
        (None, None, OPEN),
    ],
)
def test_evidence_decides_at_the_one_sided_level(
    beyond: float | None, within: float | None, outcome: Outcome
) -> None:
    assert verdicts.decide(Evidence(beyond, within), 0.95) is outcome


def test_no_evidence_is_inconclusive_and_said() -> None:
    limit = Limit("model_bias_score", 0.3)
    for verdict in (
        verdicts.judge(None, limit, "higher"),
        verdicts.judge_family([None], [Evidence(None, None)], limit, "higher", level=0.95)[0],
    ):
        assert verdict.outcome is OPEN
        assert "no evidence" in verdict.message
        assert verdict.interval is None


def test_a_verdict_says_what_lies_where() -> None:
    inconclusive = verdicts.judge(interval(0.0, 0.4), Limit("model_bias_score", 0.3), "higher")
    assert inconclusive.outcome is OPEN
    assert "0.200 [0.000, 0.400]" in inconclusive.message
    assert "cannot be told from the limit model_bias_score <= 0.3" in inconclusive.message
    passed = verdicts.judge(interval(0.4, 0.6), Limit("accuracy", 0.3), "lower")
    assert passed.outcome is PASS
    assert "lies within the limit accuracy >= 0.3" in passed.message
    failed = verdicts.judge(interval(0.4, 0.6), Limit("x", 0.3), "away_from_zero")
    assert failed.outcome is FAIL
    assert "lies beyond the limit |x| <= 0.3" in failed.message


@pytest.mark.parametrize(
    ("evidence", "outcome", "p_value"),
    [
        (Evidence(0.01, 0.9), FAIL, 0.01),
        (Evidence(0.9, 0.01), OPEN, 0.9),
        (Evidence(0.2, 0.3), OPEN, 0.2),
    ],
)
def test_evidence_and_the_interval_decide_together(
    evidence: Evidence, outcome: Outcome, p_value: float
) -> None:
    verdict = verdicts.judge(interval(0.6, 1.0), Limit("x", 0.5), "higher", evidence=evidence)
    assert (verdict.outcome, verdict.p_value) == (outcome, p_value)
    wide = verdicts.judge(interval(0.4, 1.0), Limit("x", 0.5), "higher", evidence=evidence)
    assert wide.outcome is OPEN


def test_images_to_decide() -> None:
    assert more_by_interval(interval(0.1, 0.9), 0.5, "higher", 20) is None
    assert more_by_interval(interval(0.1, 0.2), 0.5, "higher", 20) == 0
    assert more_by_interval(interval(0.0998, 0.9), 0.5, "higher", 20) is None
    assert more_by_interval(interval(0.4, 0.8), 0.5, "higher", 25) == 75
    assert more_by_interval(interval(0.4, 0.8), 0.5, "lower", 25) == 75
    assert more_by_interval(interval(-0.8, -0.4), 0.5, "away_from_zero", 25) == 75
    with pytest.raises(ValueError, match="n_images=0"):
        more_by_interval(interval(0.1, 0.9), 0.5, "higher", 0)


def test_a_family_is_judged_member_by_member() -> None:
    members = [interval(0.6, 1.0), interval(0.0, 0.2), interval(0.3, 0.7), None]
    evidence = [Evidence(0.01, 1.0), Evidence(1.0, 0.02), Evidence(0.3, 0.3), Evidence(None, None)]
    limit = Limit("prompt_bias_score", 0.5)
    judged = verdicts.judge_family(members, evidence, limit, "higher", level=0.95)
    assert [verdict.outcome for verdict in judged] == [FAIL, PASS, OPEN, OPEN]
    assert [verdict.p_value for verdict in judged] == [0.01, 0.02, 0.3, None]
    strict = verdicts.judge_family(members, evidence, limit, "higher", level=0.995)
    assert {verdict.outcome for verdict in strict} == {OPEN}


def remark_on(verdict: Verdict, bounds: Bounds | None):
    seen = Measurement(INFO["model_bias_score"], "model", verdict.interval, worst_case=bounds)
    return UndetectedImages().remark(Question(seen, "limit", 0.5), verdict)


@pytest.mark.parametrize(
    ("labelled", "bounds", "words"),
    [
        (None, Bounds(0.4, 1.0, 0.3), ""),  # the undetected are taken to be like the others
        (OPEN, None, ""),
        (OPEN, Bounds(0.4, 1.0, 0.2), ""),  # too few images, and no more than one in five is lost
        (OPEN, Bounds(0.4, 1.0, 0.3), "show: 0.400 to 1.000, on both sides of 0.5. More images wo"),
        (OPEN, Bounds(0.55, 1.0, 0.3), ""),
        (FAIL, Bounds(0.4, 1.0, 0.1), "1.000. The labelled images alone would FAIL, on both sides"),
        (FAIL, Bounds(0.55, 1.0, 0.1), "alone would FAIL, but with the labels least favourable"),
        (PASS, Bounds(0.0, 0.6, 0.1), "The labelled images alone would PASS"),
    ],
)
def test_an_open_verdict_says_whether_it_hangs_on_undetected_images(
    labelled: Outcome | None, bounds: Bounds | None, words: str
) -> None:
    left = Verdict(OPEN, interval(0.3, 0.8), Limit("x", 0.5), 0.3, 20, "", labelled)
    caveat = remark_on(left, bounds)
    assert (caveat is None) is (bounds is None)
    if caveat is not None:
        assert words in caveat.message
        assert bool(caveat.lacks) is bool(words)


def test_what_is_decided_whatever_the_undetected_show_stays_decided() -> None:
    limit = Limit("prompt_bias_score", 0.5)
    evidence = Evidence(0.01, 1.0, labelled=(0.001, 1.0))
    sure = verdicts.judge(interval(0.6, 1.0), limit, "higher", evidence=evidence)
    assert sure.labelled is FAIL
    caveat = remark_on(sure, Bounds(0.4, 1.0, 0.3))
    assert caveat.message == "whatever the 30% undetected images show: 0.400 to 1.000"
    assert caveat.lacks == ""


def test_refusals() -> None:
    with pytest.raises(ValueError, match="worse='up'"):
        verdicts.judge(None, Limit("x", 0.1), "up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"bound=-0\.1"):
        verdicts.compare(interval(0, 1), -0.1, "away_from_zero")
    with pytest.raises(ValueError, match="equally long, got 1 and 0"):
        verdicts.judge_family([None], [], Limit("x", 0.1), "higher", level=0.95)
