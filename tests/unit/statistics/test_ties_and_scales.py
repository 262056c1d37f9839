"""Ties, fractions, empty columns and scales that few arguments have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import metrics
from pytest_t2i.statistics import prompt_bias_p_value
from pytest_t2i.statistics.distances import distance_range
from pytest_t2i.statistics.families import adaptive_discarding, family_share_p_values
from pytest_t2i.statistics.objects import _permuted
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.planning import Design, prompt_power
from pytest_t2i.statistics.ranks import groups_differ_p_value


def test_objects_may_be_counted_by_halves():
    # All four triplets on one side: 2 of 16 ways to swap are as extreme, 10 of 16 nearly so.
    half, none = np.full((4, 1), 0.5), np.zeros((4, 1))
    assert _permuted(half, none, 0, paired=True)[0] == pytest.approx(2 / 16, abs=0.02)


def test_rows_may_be_tiny_or_huge():
    assert metrics.similarity([[1e200, 0.0]], [[1e-200, 1e-200]]) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_model_without_an_image_is_none_to_compare(place):
    men, women = [7, 2], [3, 9]
    exact = float(stats.fisher_exact([men, women]).pvalue)
    men.insert(place, 0)
    women.insert(place, 0)
    assert groups_differ_p_value(np.transpose([men, women]), seed=0) == exact


def test_no_test_has_no_thresholds():
    assert adaptive_discarding([], [], 0.95).tolist() == []


def test_sets_of_labels_reach_as_far_as_the_box_lets_them():
    low, high = np.array([0.1, 0.2, 0.0]), np.array([0.5, 0.6, 0.3])
    # Farthest from (0.5, 0.5, 0): the third at 0.3, the others' sum 0.7; nearest: (0.5, 0.5, 0).
    assert distance_range(low, high, np.array([0.5, 0.5, 0.0])) == pytest.approx((0.0, 0.4))
    assert distance_range(low, high, np.array([0.0, 0.0, 1.0])) == pytest.approx((0.7, 1.0))


def test_at_its_limit_a_prompts_power_is_that_to_pass():
    # 30 images at a bias of 0.5: what passes there has at most the error of the level.
    chance = stats.binom.pmf(np.arange(31), 30, 0.75)
    passes = [prompt_bias_p_value(k, 30 - k, 0.5, "within") <= 0.05 for k in range(31)]
    assert prompt_power(0.5, 0.5, 30, Design(1)) == pytest.approx(chance[passes].sum())
    assert 0.0 < chance[passes].sum() <= 0.05


def test_more_than_there_are_is_told_where_it_is():
    with pytest.raises(ValueError, match=r"successes\[0\]=3, n=2"):
        family_share_p_values([3, 9], [2, 9], [0.5, 0.5], level=0.95)


@pytest.mark.parametrize("label", [-2, 2])
def test_a_label_beyond_the_genders_is_refused_as_such(label):
    for pair in (([[label]], [[1]]), ([[1]], [[label]])):
        with pytest.raises(ValueError, match=r"must lie in \[-1, 1\]"):
            paired_change_p_value(*pair, seed=0)
