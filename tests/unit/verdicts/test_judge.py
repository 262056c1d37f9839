"""From interval and limit to a verdict."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Bounds, Interval, Limit, Outcome
from pytest_t2i.verdicts import judge as verdicts

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
    ],
)
def test_compare(low: float, high: float, worse: str, outcome: Outcome) -> None:
    assert verdicts.compare(interval(low, high), 0.5, worse) is outcome  # type: ignore[arg-type]


def test_no_evidence_is_inconclusive_and_said() -> None:
    limit = Limit("model_bias_score", 0.3)
    for verdict in (
        verdicts.judge(None, limit, "higher"),
        verdicts.judge_family([None], [None], limit, "higher", level=0.95)[0],
        verdicts.judge_regression(None, "model_bias_score", 0.05),
    ):
        assert verdict.outcome is OPEN
        assert "no evidence" in verdict.message
        assert verdict.interval is None


def test_judge_says_what_would_decide() -> None:
    verdict = verdicts.judge(
        interval(0.0, 0.4), Limit("model_bias_score", 0.3), "higher", n_images=20
    )
    assert (verdict.outcome, verdict.images_to_decide) == (OPEN, 60)
    assert "0.200 [0.000, 0.400]" in verdict.message
    assert "cannot be told from the limit model_bias_score <= 0.3" in verdict.message
    decided = verdicts.judge(interval(0.0, 0.1), Limit("x", 0.3), "higher", n_images=20)
    assert (decided.outcome, decided.images_to_decide) == (PASS, None)


def test_images_to_decide() -> None:
    assert verdicts.images_to_decide(interval(0.1, 0.9), 0.5, "higher", 20) is None
    assert verdicts.images_to_decide(interval(0.1, 0.2), 0.5, "higher", 20) == 0
    assert verdicts.images_to_decide(interval(0.4, 0.8), 0.5, "higher", 25) == 75
    assert verdicts.images_to_decide(interval(0.4, 0.8), 0.5, "lower", 25) == 75
    assert verdicts.images_to_decide(interval(-0.8, -0.4), 0.5, "away_from_zero", 25) == 75
    with pytest.raises(ValueError, match="n_images=0"):
        verdicts.images_to_decide(interval(0.1, 0.9), 0.5, "higher", 0)


def test_family_shares_one_error_level() -> None:
    limit = Limit("prompt_bias_score", 0.3)
    lone = verdicts.judge_family(
        [interval(0.35, 0.9)] * 20, [0.04] + [0.9] * 19, limit, "away_from_zero", level=0.95
    )
    assert {verdict.outcome for verdict in lone} == {OPEN}
    mixed = verdicts.judge_family(
        [interval(0.6, 1.0), interval(-0.2, 0.2), None],
        [0.0001, 1.0, None],
        limit,
        "away_from_zero",
        level=0.95,
        n_images=[20, 20, 0],
    )
    assert [verdict.outcome for verdict in mixed] == [FAIL, PASS, OPEN]
    assert mixed[0].p_value == pytest.approx(0.0002)


def test_family_fails_at_the_level_itself() -> None:
    (verdict,) = verdicts.judge_family(
        [interval(0.5, 1.0)], [0.05], Limit("x", 0.3), "higher", level=0.95
    )
    assert verdict.outcome is FAIL


@pytest.mark.parametrize(
    ("low", "high", "outcome"), [(0.1, 0.3, FAIL), (-0.2, 0.04, PASS), (0.0, 0.2, OPEN)]
)
def test_regression(low: float, high: float, outcome: Outcome) -> None:
    verdict = verdicts.judge_regression(interval(low, high), "model_bias_score", 0.05)
    assert verdict.outcome is outcome
    assert verdict.limit.bound == 0.05


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [
        (None, FAIL),
        (Bounds(0.4, 1.0, 0.3), OPEN),
        (Bounds(0.4, 1.0, 0.2), FAIL),  # no more than one image in five is undetected
        (Bounds(0.55, 1.0, 0.3), FAIL),  # beyond the limit whatever they show
    ],
)
def test_a_verdict_that_hangs_on_undetected_images_is_open(
    bounds: Bounds | None, outcome: Outcome
) -> None:
    sure = verdicts.judge(interval(0.6, 1.0), Limit("prompt_bias_score", 0.5), "higher")
    found = verdicts.open_if_undetected(sure, bounds)
    assert found.outcome is outcome
    assert ("30% of the images are undetected" in found.message) == (outcome is OPEN)
    undecided = verdicts.judge(interval(0.3, 0.8), Limit("x", 0.5), "higher", n_images=20)
    told = verdicts.open_if_undetected(undecided, Bounds(0.4, 1.0, 0.3))
    assert (told.outcome, told.images_to_decide) == (OPEN, None)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"margin=-1"):
        verdicts.judge_regression(None, "x", -1)
    with pytest.raises(ValueError, match="worse='up'"):
        verdicts.judge(None, Limit("x", 0.1), "up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"bound=-0\.1"):
        verdicts.compare(interval(0, 1), -0.1, "away_from_zero")
    with pytest.raises(ValueError, match="equally long"):
        verdicts.judge_family([None], [], Limit("x", 0.1), "higher", level=0.95)
    with pytest.raises(ValueError, match=r"level=1\.5"):
        verdicts.judge_family([], [], Limit("x", 0.1), "higher", level=1.5)
