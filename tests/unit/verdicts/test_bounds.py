"""Bounds at the ends of what a metric, a margin or a number of images can be."""

from __future__ import annotations

import math

import pytest

from pytest_t2i.data import Bounds, Evidence, Interval, Limit, MetricInfo, Outcome, Verdict
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.planning import Design, prompt_power
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.caveats.built_in import BUILT_IN
from pytest_t2i.verdicts.caveats.seams import Question
from pytest_t2i.verdicts.caveats.undetected import UndetectedImages
from pytest_t2i.verdicts.check import check_of
from pytest_t2i.verdicts.images_to_decide import more_by_interval, more_by_power
from pytest_t2i.verdicts.judge_measurement import never_beyond, verdict_of
from pytest_t2i.verdicts.limits_file import checked_limit
from pytest_t2i.verdicts.measurement import Family, Measurement, unchanged
from pytest_t2i.verdicts.reach_verdict import Found, Reached, reach


def interval(low, high):
    return Interval((low + high) / 2, low, high, 0.95, "test", 20)


@pytest.mark.parametrize("metric", INFO)
def test_a_limit_may_lie_at_either_end_of_its_metric(metric):
    info = INFO[metric]
    for bound in (info.low, info.high):
        if math.isfinite(bound):
            assert checked_limit(metric, bound, "").bound == bound
    for bound in (info.low - 0.01, info.high + 0.01):
        if math.isfinite(bound):
            with pytest.raises(ConfigurationError, match="lies between"):
                checked_limit(metric, bound, "")


def test_no_margin_is_a_margin_and_no_end_is_none():
    name = "model_bias_score.margin"
    assert checked_limit(name, 0, "").bound == 0.0
    assert checked_limit(name, 3.5, "").bound == 3.5
    for bound in (-0.001, math.inf, math.nan):
        with pytest.raises(ConfigurationError, match="a margin is at least 0"):
            checked_limit(name, bound, "")


def test_zero_is_a_bound_of_what_leans_to_either_side():
    assert judge.compare(interval(0.0, 0.0), 0.0, "away_from_zero") is Outcome.PASS
    assert judge.compare(interval(0.1, 0.2), 0.0, "away_from_zero") is Outcome.FAIL
    assert judge.compare(interval(-0.2, -0.1), -0.5, "higher") is Outcome.FAIL
    for bound in (math.inf, math.nan):
        with pytest.raises(ValueError, match="bound must be finite"):
            judge.compare(interval(0.0, 1.0), bound, "higher")


def test_one_image_may_ask_for_more():
    assert more_by_interval(interval(0.4, 0.8), 0.5, "higher", 1) == 3
    # Half-width and distance are alike up to rounding.
    assert more_by_interval(Interval(0.1, 0.0, 0.5 + 1e-9, 0.9, "test", 9), 0.5, "higher", 9) == 1


def test_more_than_ten_million_images_are_no_advice():
    def asked(distance):
        seen = Interval(0.5 + distance, 0.4, 0.9, 0.95, "test", 100)
        return more_by_interval(seen, 0.5, "higher", 100)

    # (0.1 + d)^2 / d^2 times 100 reaches ten million at d = 0.1 / (sqrt(1e5) - 1).
    edge = 0.1 / (math.sqrt(1e5) - 1)
    assert asked(0.999 * edge) is None
    assert asked(1.001 * edge) > 9_900_000


def test_a_prompt_asks_for_at_least_one_image_more():
    asked = more_by_power(prompt_power, 0.9, 0.3, 40, Design(1, 0.95))
    assert asked == 1
    assert more_by_power(prompt_power, 0.3, 0.3, 40, Design(1, 0.95)) is None


def test_a_check_of_nothing_counts_no_image():
    limit = Limit("model_bias_score", 0.3)
    nothing = Measurement(INFO["model_bias_score"], "model", None, absent="no image is clear")
    verdict = Verdict(Outcome.INCONCLUSIVE, None, limit)
    check = check_of("t", Reached(Question(nothing, "limit"), verdict, ()), "<=")
    assert (check.n, check.method) == (0, "")
    assert (check.estimate, check.low, check.high, check.level) == (None,) * 4


def test_the_same_pictures_have_not_changed_at_all():
    same = unchanged(Limit("model_bias_score.margin", 0.05), 20, "same pictures")
    assert same.verdict.outcome is Outcome.PASS
    assert same.interval == Interval(0.0, 0.0, 0.0, 1.0, "identical", 20)


@pytest.mark.parametrize(
    ("metric", "bound", "never"),
    [
        ("model_bias_score", 1.0, True),
        ("model_bias_score", 0.99, False),
        ("accuracy", 0.0, True),
        ("accuracy", 0.01, False),
        ("similarity_gap", 2.0, True),
        ("similarity_gap", 1.99, False),
    ],
)
def test_beyond_the_end_of_a_metric_lies_nothing(metric, bound, never):
    assert never_beyond(INFO[metric], bound) is never


@pytest.mark.parametrize(("worse", "never"), [("away_from_zero", False), ("higher", True)])
def test_what_reaches_further_down_than_up(worse, never):
    lopsided = MetricInfo("x", -1.0, 0.5, worse, "none")
    assert never_beyond(lopsided, 0.7) is never
    assert never_beyond(lopsided, 1.0) is True


@pytest.mark.parametrize(
    ("of_model", "against", "weighs"),
    [
        (True, "limit", True),
        (False, "limit", False),
        (True, "baseline", True),
        (False, "baseline", True),
    ],
)
def test_what_is_of_the_model_or_against_a_baseline_weighs(of_model, against, weighs):
    limit = Limit("model_bias_score", 0.3)
    among = interval(0.1, 0.5)
    measured = Measurement(INFO["model_bias_score"], "mine", among, is_of_model=of_model)
    verdict = Verdict(Outcome.INCONCLUSIVE, measured.interval, limit)
    check = check_of("t", Reached(Question(measured, against), verdict, ()), "<=")
    assert (check.is_of_model, check.weighs_on_run) == (of_model, weighs)


@pytest.mark.parametrize(
    ("evidence", "bounds", "outcome", "hangs"),
    [
        (Evidence(0.2, 0.9, labelled=(0.01, 0.9)), Bounds(0.1, 0.9, 0.5), "INCONCLUSIVE", True),
        (Evidence(0.02, 0.9, labelled=(0.01, 0.9)), Bounds(0.5, 0.9, 0.5), "FAIL", False),
        (Evidence(0.2, 0.9, labelled=(0.1, 0.9)), Bounds(0.5, 0.9, 0.5), "INCONCLUSIVE", False),
        (Evidence(0.2, 0.9), None, "INCONCLUSIVE", False),
    ],
)
def test_an_open_verdict_may_hang_on_the_undetected(evidence, bounds, outcome, hangs):
    limit = Limit("model_bias_score", 0.3)
    measured = Measurement(
        INFO["model_bias_score"], "model", interval(0.35, 0.5), worst_case=bounds,
        evidence=lambda _bound, _level: evidence,
    )  # fmt: skip
    found = reach(
        Question(measured, "limit", 0.3),
        BUILT_IN,
        lambda m, level: Found(verdict_of(m, limit, level)),
    )
    check = check_of("t", found, "<=")
    assert (check.outcome.value, bool(check.lacks)) == (outcome, hangs)


@pytest.mark.parametrize("bounds", [None, Bounds(0.0, 1.0, 1.0)])
def test_without_any_label_the_undetected_are_what_is_wanting(bounds):
    limit = Limit("model_bias_score", 0.3)
    nothing = Measurement(
        INFO["model_bias_score"], "model", None, worst_case=bounds, absent="none of 9 is clear"
    )
    verdict = verdict_of(nothing, limit, 0.95)
    caveat = UndetectedImages().remark(Question(nothing, "limit", 0.3), verdict)
    assert verdict.message == "none of 9 is clear"
    assert bool(caveat and caveat.lacks) is bool(bounds)


@pytest.mark.parametrize("power", [prompt_power, None])
def test_a_member_asks_for_images_by_its_own_test(power):
    limit, seen = Limit("prompt_bias_score", 0.5), Interval(0.2, 0.0, 0.6, 0.95, "test", 20)
    family = Family((seen, seen), lambda _bound, _level: [Evidence(0.4, 0.3)] * 2)
    known = {"images": 20, "family": family, "power": power}
    measured = Measurement(INFO["prompt_bias_score"], "profession-nurse", seen, **known)
    asked = verdict_of(measured, limit, 0.95).images_to_decide
    by_test = more_by_power(prompt_power, 0.2, 0.5, 20, Design(2, 0.95))
    by_interval = more_by_interval(seen, 0.5, "higher", 20)
    assert by_test != by_interval
    assert asked == (by_interval if power is None else by_test)


def test_a_measurement_says_what_it_is_of():
    seen = Measurement(INFO["model_bias_score"], "model", Interval(0.2, 0.1, 0.5, 0.9, "test", 9))
    assert str(seen) == repr(seen) == "model_bias_score of model = 0.200 [0.100, 0.500]"
    nothing = Measurement(INFO["model_bias_score"], "model", None)
    assert str(nothing) == "model_bias_score of model = no evidence"
