"""Properties and refusals of intervals, tests and estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_t2i import metrics, statistics
from pytest_t2i.statistics import prompt_bias_p_value
from pytest_t2i.statistics.change import (
    paired_model_bias_scores,
    paired_prompt_p_value,
    prompt_bias_change,
)
from pytest_t2i.statistics.shares import stereotype_interval

FEW = settings(max_examples=25, deadline=None)
PAIR = st.tuples(st.integers(0, 40), st.integers(0, 40)).filter(any)


@FEW
@given(PAIR, st.sampled_from([0.8, 0.95, 0.99]))
def test_prompt_bias_interval_mirrors(pair: tuple[int, int], level: float) -> None:
    entry = statistics.prompt_bias_interval(*pair, level)
    two = statistics.prompt_bias_interval(*pair[::-1], level)
    assert (entry.low, entry.high) == pytest.approx((-two.high, -two.low))
    assert -1 <= entry.low <= entry.estimate <= entry.high <= 1
    assert entry.low < entry.high


@FEW
@given(PAIR, st.floats(0, 1))
def test_p_values_are_symmetric_and_monotone_in_the_bound(
    pair: tuple[int, int], bound: float
) -> None:
    for side in ("beyond", "within"):
        p = prompt_bias_p_value(*pair, bound, side)
        assert 0 <= p <= 1
        assert p == pytest.approx(prompt_bias_p_value(*pair[::-1], bound, side))
    of = {
        (b, side): prompt_bias_p_value(*pair, b, side)
        for b in (bound, bound / 2)
        for side in ("beyond", "within")
    }
    assert of[bound, "beyond"] >= of[bound / 2, "beyond"] - 1e-9
    assert of[bound, "within"] <= of[bound / 2, "within"] + 1e-9


@pytest.mark.parametrize("n", [1, 7, 20])
@pytest.mark.parametrize("bound", [0.0, 0.3, 0.6])
def test_tests_hold_their_level_exactly(n: int, bound: float) -> None:
    k = np.arange(n + 1)
    over = np.array([prompt_bias_p_value(int(i), int(n - i), bound, "beyond") for i in k])
    under = np.array([prompt_bias_p_value(int(i), int(n - i), bound, "within") for i in k])
    for alpha in (0.01, 0.05, 0.2):
        for inside in np.linspace(0, bound, 5):
            chance = stats.binom.pmf(k, n, (1 + inside) / 2)
            assert chance[over <= alpha].sum() <= alpha + 1e-9
        for outside in np.linspace(bound, 1, 5):
            chance = stats.binom.pmf(k, n, (1 + outside) / 2)
            assert chance[under <= alpha].sum() <= alpha + 1e-9


def test_fair_floor() -> None:
    assert statistics.fair_floor(20) == pytest.approx(0.17620, abs=1e-5)
    assert statistics.fair_floor([20, 20, 0]) == statistics.fair_floor(20)
    assert statistics.fair_floor([1, 2]) == 0.75
    # Not 1.0000000000000002, which no share may be.
    assert statistics.fair_floor([1] * 100) == 1.0
    fair = np.random.default_rng(0).binomial(20, 0.5, 100_000)
    assert np.mean(np.abs(fair / 10 - 1)) == pytest.approx(statistics.fair_floor(20), abs=2e-3)


@FEW
@given(st.lists(PAIR, min_size=1, max_size=15))
def test_corrected_score_symmetry_and_bounds(pairs: list[tuple[int, int]]) -> None:
    male, female = (np.array(side) for side in zip(*pairs, strict=True))
    score = statistics.corrected_model_bias_score(male, female)
    assert 0 <= score <= 1
    assert statistics.corrected_model_bias_score(female, male) == score
    assert statistics.corrected_model_bias_score(male[::-1], female[::-1]) == pytest.approx(score)
    assert statistics.corrected_model_bias_score([*male, 0], [*female, 0]) == pytest.approx(score)


@FEW
@given(st.lists(PAIR, min_size=2, max_size=15), st.integers(1, 14))
def test_a_total_lies_between_its_parts(pairs: list[tuple[int, int]], cut: int) -> None:
    cut = min(cut, len(pairs) - 1)
    total, *parts = (
        statistics.model_bias_interval(*zip(*some, strict=True), level=0.9, seed=0).estimate
        for some in (pairs, pairs[:cut], pairs[cut:])
    )
    assert min(parts) - 1e-9 <= total <= max(parts) + 1e-9


@FEW
@given(st.lists(PAIR, min_size=1, max_size=15))
def test_a_recorded_score_is_the_one_it_is_compared_as(pairs: list[tuple[int, int]]) -> None:
    male, female = (np.array(side) + 1 for side in zip(*pairs, strict=True))
    more = male + 3, female + 2
    scores = paired_model_bias_scores(male, female, *more)
    change = statistics.paired_model_bias_change(male, female, *more, level=0.9, seed=0)
    assert scores.before == pytest.approx(statistics.corrected_model_bias_score(male, female))
    assert change.estimate == pytest.approx(scores.after - scores.before)


@pytest.mark.parametrize(
    ("male", "female"),
    [([20], [0]), ([10], [10]), ([20, 20], [0, 0]), ([5, 0, 9, 1], [5, 7, 1, 0])],
)
def test_model_bias_interval_holds_its_estimate(male: list[int], female: list[int]) -> None:
    options: Any = {"level": 0.95, "seed": 3}
    entry = statistics.model_bias_interval(male, female, **options)
    assert entry == statistics.model_bias_interval(male, female, **options)
    assert 0 <= entry.low <= entry.estimate <= entry.high <= 1
    assert entry.high - entry.low > 0.01, "never certain"
    assert entry.n == len(male)


def test_fair_model_may_be_unbiased_and_biased_one_may_not() -> None:
    fair = np.random.default_rng(1).binomial(20, 0.5, 100)
    interval = statistics.model_bias_interval(fair, 20 - fair, level=0.95, seed=0)
    assert interval.low == 0.0
    assert interval.high < 0.2
    biased = statistics.model_bias_interval([19] * 50, [1] * 50, level=0.95, seed=0)
    assert biased.low > 0.7


@pytest.mark.parametrize("present", [0, 3, 10, 20])
def test_too_rare_is_its_absence_too_frequent(present: int) -> None:
    turned = (20 - present, 20, 0.7)
    result = stereotype_interval(present, 20, 0.3, 0.95, "under")
    assert result == stereotype_interval(*turned, 0.95)
    score = metrics.stereotype_score(present / 20, 0.3, "under")
    assert result.estimate == pytest.approx(score)
    assert result.low <= score <= result.high


def test_stereotype_interval_folds_at_zero() -> None:
    under = stereotype_interval(1, 100, 0.5, 0.95)
    assert (under.low, under.estimate, under.high) == (0.0, 0.0, 0.0)


def test_mean_interval() -> None:
    groups = list(np.random.default_rng(0).normal(0.3, 1, size=(40, 3)))
    entry = statistics.mean_interval(groups, level=0.95)
    assert entry == statistics.mean_interval([*groups, []], level=0.95)
    assert entry.estimate == pytest.approx(np.mean(groups))
    assert entry.low < entry.estimate < entry.high
    few = statistics.mean_interval(groups[:3], level=0.95)
    means = np.mean(groups[:3], axis=1)
    expected = stats.t.interval(0.95, 2, means.mean(), stats.sem(means))
    assert (few.low, few.high) == pytest.approx(expected)
    assert statistics.mean_interval([[0.1, 0.2, 0.4]], level=0.95).n == 3


def test_skewness_is_removed_from_ten_units_on() -> None:
    """Hall's transformation of both ends is what Student's t says it is."""
    values = np.random.default_rng(3).exponential(1.0, size=12)
    entry = statistics.mean_interval(list(values[:, None]), level=0.95)
    skewness, deviation = stats.skew(values, bias=False), np.std(values, ddof=1)
    end = stats.t.ppf(0.975, 11)
    for bound, student in ((entry.low, end), (entry.high, -end)):
        s = (values.mean() - bound) / deviation
        cubic = s + skewness * s**2 / 3 + skewness**2 * s**3 / 27 + skewness / (6 * 12)
        assert np.sqrt(12) * cubic == pytest.approx(student)
    mirrored = statistics.mean_interval(list(-values[:, None]), level=0.95)
    assert (-mirrored.high, -mirrored.low) == pytest.approx((entry.low, entry.high))
    # More lies far above than far below: so may the truth.
    assert entry.high - entry.estimate > 1.5 * (entry.estimate - entry.low)
    flat = statistics.mean_interval([[0.5]] * 12, level=0.95)
    assert (flat.low, flat.high) == (0.5, 0.5)


def test_a_bounded_mean_is_never_certain() -> None:
    groups = [[1.0] * 4] * 5
    bounded = statistics.mean_interval(groups, level=0.95, bounds=(0, 1))
    assert bounded.low < 0.8
    assert (bounded.estimate, bounded.high) == (1.0, 1.0)
    with pytest.raises(ValueError, match="groups"):
        statistics.mean_interval([[1.0], [2.0]], level=0.95, bounds=(0, 1))


@FEW
@given(st.lists(st.floats(0, 1), max_size=20), st.randoms())
def test_benjamini_hochberg_is_no_smaller_and_follows_order(p: list[float], random: Any) -> None:
    adjusted = statistics.benjamini_hochberg(p)
    assert np.all(adjusted >= np.array(p) - 1e-12)
    order = list(range(len(p)))
    random.shuffle(order)
    np.testing.assert_allclose(
        statistics.benjamini_hochberg([p[i] for i in order]), adjusted[order]
    )


def test_the_same_images_are_no_change() -> None:
    counts = ([3, 18, 10] * 5, [17, 2, 10] * 5)
    change = statistics.paired_model_bias_change(*counts, *counts, level=0.95, seed=0)
    assert change.estimate == pytest.approx(0.0)
    assert change.low < 0.0 < change.high
    few = [side[:2] for side in counts]
    change = statistics.paired_model_bias_change(*few, *few, level=0.95, seed=0)
    assert change.low < 0.0 < change.high
    labels = [1, -1, 0, 1] * 5
    for shared in (True, False):
        assert paired_prompt_p_value(labels, labels, shared_seeds=shared) == 1.0


def test_a_turn_to_the_other_side_is_measured_by_its_size() -> None:
    men, women = [1] * 20, [-1] * 20
    assert paired_prompt_p_value(men, women, shared_seeds=True) == 1.0
    assert prompt_bias_change(20, 0, 0, 20, 0.95).estimate == 0.0
    fair = [1, -1] * 10
    for after in (men, women):
        assert paired_prompt_p_value(fair, after, shared_seeds=True) < 0.01
        assert paired_prompt_p_value(after, fair, shared_seeds=True) == 1.0
    assert paired_prompt_p_value(fair, men, margin=1.5, shared_seeds=False) == 1.0
    assert paired_prompt_p_value([0, 0], [1, 1], shared_seeds=True) == 1.0


LEVEL: dict[str, Any] = {"level": 0.95, "seed": 0}
REFUSALS: list[tuple[Callable[[], Any], str]] = [
    (lambda: statistics.share_interval(0, 0, 0.95), "n=0"),
    (lambda: statistics.share_interval(3, 2, 0.95), "successes=3, n=2"),
    (lambda: statistics.share_interval(1, 2, 1.0), "level=1.0"),
    (lambda: statistics.share_interval(0.5, 2, 0.9), "successes must be whole numbers"),  # type: ignore[arg-type]
    (lambda: statistics.prompt_bias_interval(0, 0, 0.95), "no clear image"),
    (lambda: prompt_bias_p_value(1, 1, 1.5, "beyond"), "bound=1.5"),
    (lambda: stereotype_interval(1, 2, 1.5, 0.95), "expected=1.5"),
    (lambda: stereotype_interval(1, 2, 0.5, 0.95, "less"), "direction='less'"),
    (lambda: metrics.stereotype_score(0.1, 0.5, "below"), "direction='below'"),
    (lambda: statistics.fair_floor([0, 0]), "no clear image in 2 prompts"),
    (lambda: statistics.fair_floor([1.5]), r"n_clear\[0\]=1.5"),
    (lambda: statistics.corrected_model_bias_score([0], [0]), "no clear image in 1 prompts"),
    (lambda: statistics.corrected_model_bias_score([1], [0, 1]), "same shape"),
    (lambda: statistics.mean_interval([[1.0]], level=0.95), "at least two values"),
    (lambda: statistics.mean_interval([[1.0], [np.nan]], level=0.95), r"groups\[1\]\[0\]=nan"),
    (lambda: statistics.benjamini_hochberg([1.2]), r"p_values\[0\]=1.2"),
    (lambda: statistics.paired_model_bias_change([1], [0], [0], [0], **LEVEL), "both before"),
    (lambda: statistics.paired_model_bias_change([1], [0], [1], [0], **LEVEL), "two clear images"),
    (lambda: paired_prompt_p_value([2], [1], shared_seeds=True), r"before\[0\]=2"),
    (lambda: paired_prompt_p_value([1, 1], [1], shared_seeds=True), "same shape"),
]


@pytest.mark.parametrize(("call", "message"), REFUSALS)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
