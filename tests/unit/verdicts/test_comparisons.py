"""A comparison cannot pass, or fail, by mistake: the metric's own direction decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i import limit
from pytest_t2i.data import Interval, Limit, Outcome
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting.failure_text import assertion_lines
from pytest_t2i.verdicts.check import JudgingContext, running
from pytest_t2i.verdicts.measurement import Compared, Measurement

LIMITS = {"similarity_gap.image": Limit("similarity_gap.image", 0.1)}
OPERATORS = {
    "<=": lambda left, right: left <= right,
    "<": lambda left, right: left < right,
    ">=": lambda left, right: left >= right,
    ">": lambda left, right: left > right,
}


@pytest.fixture
def checks():
    recorded = []
    token = running.set(
        JudgingContext("test", LIMITS, None, ("pass", "status"), 0.95, recorded.append)
    )
    yield recorded
    running.reset(token)


def measured(metric, estimate, spread=0.01):
    interval = Interval(estimate, estimate - spread, estimate + spread, 0.95, "test", 40)
    return Measurement(INFO[metric], "model", interval, is_of_model=True)


HIGHER_IS_WORSE = [name for name, info in INFO.items() if info.worse == "higher"]
LOWER_IS_WORSE = [name for name, info in INFO.items() if info.worse == "lower"]
AWAY_IS_WORSE = [name for name, info in INFO.items() if info.worse == "away_from_zero"]


def middle(metric):
    """A bound that the metric can reach, above 0."""
    info = INFO[metric]
    return 0.5 if info.low <= 0.5 <= info.high else (info.low + info.high) / 2


def test_there_are_metrics_of_every_direction():
    assert {"model_bias_score", "stereotype_score"} <= set(HIGHER_IS_WORSE)
    assert {"accuracy", "wals"} <= set(LOWER_IS_WORSE)
    assert {"prompt_bias_score", "similarity_gap"} <= set(AWAY_IS_WORSE)


@pytest.mark.parametrize("sign", [">=", ">"])
@pytest.mark.parametrize("metric", HIGHER_IS_WORSE + AWAY_IS_WORSE)
def test_at_least_is_refused_where_higher_is_worse(checks, metric, sign):
    bound = middle(metric)
    right = rf"write `{metric} <= limit\('{metric}', {bound:g}\)`, got {sign}$"
    with pytest.raises(ConfigurationError, match=right):
        OPERATORS[sign](measured(metric, bound + 0.3), limit(metric, bound))
    assert checks == []


@pytest.mark.parametrize("sign", ["<=", "<"])
@pytest.mark.parametrize("metric", LOWER_IS_WORSE)
def test_at_most_is_refused_where_lower_is_worse(checks, metric, sign):
    bound = middle(metric)
    right = rf"lower is worse: write `{metric} >= limit\('{metric}', {bound:g}\)`, got {sign}$"
    with pytest.raises(ConfigurationError, match=right):
        OPERATORS[sign](measured(metric, bound - 0.3), limit(metric, bound))
    assert checks == []


@pytest.mark.parametrize(
    ("metric", "estimate", "sign", "outcome"),
    [
        ("model_bias_score", 0.9, "<=", Outcome.FAIL),
        ("model_bias_score", 0.9, "<", Outcome.FAIL),
        ("model_bias_score", 0.1, "<=", Outcome.PASS),
        ("accuracy", 0.9, ">=", Outcome.PASS),
        ("accuracy", 0.1, ">=", Outcome.FAIL),
        ("accuracy", 0.1, ">", Outcome.FAIL),
        ("similarity_gap", -0.8, "<=", Outcome.FAIL),
        ("similarity_gap", 0.8, "<=", Outcome.FAIL),
        ("similarity_gap", -0.2, "<=", Outcome.PASS),
        ("prompt_bias_score", -0.9, "<=", Outcome.FAIL),
    ],
)
def test_the_metrics_own_direction_decides(checks, metric, estimate, sign, outcome):
    goes_on = OPERATORS[sign](measured(metric, estimate), limit(metric, 0.5))
    assert goes_on is (outcome is Outcome.PASS)
    assert [check.outcome for check in checks] == [outcome]


@pytest.mark.parametrize("estimate", [-0.8, 0.8, 0.05])
@pytest.mark.parametrize("metric", AWAY_IS_WORSE)
def test_abs_changes_nothing_where_away_from_zero_is_worse(checks, metric, estimate):
    bare = measured(metric, estimate) <= limit(metric, 0.3)
    folded = abs(measured(metric, estimate)) <= limit(metric, 0.3)
    assert bare is folded is (estimate == 0.05)
    first, second = checks
    assert first == second
    assert first.estimate == abs(estimate)


@pytest.mark.parametrize(
    ("metric", "other"),
    [
        ("accuracy", "model_bias_score"),
        ("model_bias_score", "prompt_bias_score"),
        ("prompt_bias_score", "model_bias_score"),
        ("similarity_gap", "group_distance"),
    ],
)
def test_another_metrics_limit_is_refused(checks, metric, other):
    said = rf"{metric} was compared with limit\('{other}'\).*Compare it with limit\('{metric}'"
    for sign in ("<=", ">="):
        with pytest.raises(ConfigurationError, match=said):
            OPERATORS[sign](measured(metric, 0.2), limit(other, 0.5))
    assert checks == []


def test_a_limit_of_the_metric_under_a_longer_name_is_its_own(checks):
    assert measured("similarity_gap", 0.02) <= limit("similarity_gap.image")
    assert checks[0].outcome is Outcome.PASS


def test_the_limit_may_stand_on_the_left(checks):
    assert limit("model_bias_score", 0.5) >= measured("model_bias_score", 0.1)
    assert (limit("model_bias_score", 0.5) >= measured("model_bias_score", 0.9)) is False
    assert [check.outcome for check in checks] == [Outcome.PASS, Outcome.FAIL]
    with pytest.raises(ConfigurationError, match="higher is worse"):
        bool(limit("model_bias_score", 0.5) <= measured("model_bias_score", 0.9))


@pytest.mark.parametrize("estimate", [0.1, 0.5, 0.9])
def test_not_beyond_is_refused_whatever_was_measured(checks, estimate):
    with pytest.raises(ConfigurationError, match="write `model_bias_score <= limit"):
        assert not (measured("model_bias_score", estimate) > limit("model_bias_score", 0.5))
    assert checks == []


def test_an_inconclusive_check_fails_by_its_policy_alone(checks):
    inconclusive = measured("model_bias_score", 0.5, spread=0.3)
    assert inconclusive <= limit("model_bias_score", 0.5)
    assert checks[0].outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("policies", "metric", "goes_on"),
    [
        (("pass", "status"), "model_bias_score", True),
        (("fail", "pass"), "model_bias_score", True),
        (("pass", "fail"), "model_bias_score", False),
        (("fail", "fail"), "model_bias_score", False),
        (("fail", "estimate"), "model_bias_score", True),
        (("fail", "estimate"), "accuracy", True),
    ],
)
def test_the_policy_of_the_model_decides_about_the_model(policies, metric, goes_on):
    token = running.set(JudgingContext("test", {}, None, policies, 0.95, lambda check: None))
    try:
        sign = ">=" if INFO[metric].worse == "lower" else "<="
        compared = OPERATORS[sign](measured(metric, 0.5, spread=0.3), limit(metric, 0.5))
    finally:
        running.reset(token)
    assert compared is goes_on


def test_what_an_audits_record_keeps_of_a_measurement_is_handed_on():
    kept = []
    plain = measured("model_bias_score", 0.1)
    of_audit = replace(plain, compared=Compared("evenness", ("nurse", 0.1)))
    for keep in (kept.append, None):
        token = running.set(
            JudgingContext("test", {}, None, ("pass", "status"), 0.95, lambda _: None, keep=keep)
        )
        try:
            assert plain <= limit("model_bias_score", 0.5)
            assert of_audit <= limit("model_bias_score", 0.5)
        finally:
            running.reset(token)
    assert kept == [of_audit.compared]


# what is said of it


def test_a_plain_number_prints_no_earlier_verdict(checks):
    score = measured("model_bias_score", 0.9)
    compared = limit("model_bias_score", 0.5)
    assert not score <= compared
    assert assertion_lines(score, compared)[0].startswith("FAIL: model_bias_score of model")
    assert not score <= 0.2
    assert assertion_lines(score, 0.2) is None
    assert assertion_lines(float(score), 0.2) is None


def test_each_limit_tells_of_its_own_comparison(checks):
    near, far = limit("model_bias_score", 0.5), limit("model_bias_score", 0.95)
    score = measured("model_bias_score", 0.9)
    assert not score <= near
    assert score <= far
    assert assertion_lines(score, near)[0].startswith("FAIL")
    assert assertion_lines(score, far)[0].startswith("PASS")
    assert assertion_lines(score, limit("model_bias_score", 0.7)) is None


@pytest.mark.parametrize("bound", [0, 0.2, 1])
@pytest.mark.parametrize("sign", OPERATORS)
def test_a_plain_number_is_plain_arithmetic(checks, sign, bound):
    assert OPERATORS[sign](measured("accuracy", 0.2), bound) is OPERATORS[sign](0.2, bound)
    assert checks == []
