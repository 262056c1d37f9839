"""Whether prompts moved, and what bounds a change then."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import statistics
from pytest_t2i.statistics.baseline import moved
from pytest_t2i.statistics.baseline.change import unmoved_model_bias_change
from pytest_t2i.statistics.model.fixed_words import FixedWords

ALL_OF_ONE = np.array([[20] * 12, [0] * 12])


def drawn(share, prompts, n, rng):
    men = rng.binomial(n, share, prompts)
    return np.stack([men, n - men])


def test_the_p_value_of_moved_prompts_is_even_where_none_did():
    rng = np.random.default_rng(0)
    share = rng.beta(2.0, 2.0, 60)
    p = [
        moved.moved_p_value(drawn(share, 60, 20, rng), drawn(share, 60, 14, rng))
        for _ in range(300)
    ]
    for cut in (0.1, 0.35, 0.7):
        assert np.mean(np.array(p) <= cut) == pytest.approx(cut, abs=0.08)


def test_prompts_of_one_gender_alone_did_not_move():
    assert moved.moved_p_value(ALL_OF_ONE, ALL_OF_ONE) == 1.0
    assert not moved.is_bounded(ALL_OF_ONE, ALL_OF_ONE, 0.0)


def test_either_a_score_or_counts_that_differ_ask_for_bounds():
    even = np.array([[10] * 12, [10] * 12])
    assert not moved.is_bounded(even, even, 1.6)
    assert moved.is_bounded(even, even, 1.7)
    assert moved.is_bounded(even, even, -1.7)
    assert moved.is_bounded(even, ALL_OF_ONE, 0.0)
    assert moved.is_bounded(even[:, :9], even[:, :9], 0.0), "few prompts show no change"


def test_bounds_are_those_of_both_scores():
    rng = np.random.default_rng(1)
    before, after = drawn(0.5, 30, 20, rng), drawn(0.7, 30, 20, rng)
    old, new = FixedWords.of(*before), FixedWords.of(*after)
    ends = moved.bounded_change(before, after, 0.95)
    half = 1.959964 * np.hypot(new.below.error, old.above.error)
    assert ends.low == pytest.approx(new.below.value - old.above.value - half)
    turned = moved.bounded_change(after, before, 0.95)
    assert (turned.low, turned.high) == pytest.approx((-ends.high, -ends.low))


@pytest.mark.parametrize("words", ["fixed", "sample"])
def test_prompts_that_moved_widen_the_interval_and_others_do_not(words):
    rng = np.random.default_rng(2)
    even = drawn(0.5, 40, 20, rng)
    spread = np.stack([np.repeat([20, 10], [4, 36]), np.repeat([0, 10], [4, 36])])
    pair = (*even, *spread)
    told = statistics.paired_model_bias_change(*pair, level=0.95, seed=0, words=words)
    tables = unmoved_model_bias_change(*pair, level=0.95, words=words)
    assert told.estimate == tables.estimate
    assert told.low < tables.low - 0.02
    assert told.high > tables.high + 0.02
    same = (*even, *even)
    told = statistics.paired_model_bias_change(*same, level=0.95, seed=0, words=words)
    assert told == unmoved_model_bias_change(*same, level=0.95, words=words)
    paper = statistics.paired_model_bias_change(*pair, level=0.95, seed=0, estimator="paper")
    assert paper == unmoved_model_bias_change(*pair, level=0.95, estimator="paper")


def test_fixed_words_reach_as_far_as_both():
    rng = np.random.default_rng(3)
    before, after = drawn(0.55, 40, 20, rng), drawn(0.9, 40, 20, rng)
    ends = moved.bounded_change(before, after, 0.9)
    tables = unmoved_model_bias_change(*before, *after, level=0.9)
    told = statistics.paired_model_bias_change(*before, *after, level=0.9, seed=0)
    assert told.low == pytest.approx(max(-1.0, min(ends.low, tables.low)))
    assert told.high == pytest.approx(min(1.0, max(ends.high, tables.high)))
