"""Intervals of how evenly images fall into groups, by hand and at their ends."""

from __future__ import annotations

import pytest

from pytest_t2i import statistics
from pytest_t2i.statistics.distances import total_variation_bounds
from pytest_t2i.statistics.groups import group_diversity_interval
from pytest_t2i.statistics.ranks import group_ranking, groups_differ_p_value


def test_the_diversity_of_two_groups_follows_from_one_share():
    interval = group_diversity_interval({"male": 15, "female": 5}, level=0.95, seed=0)
    share = statistics.share_interval(15, 20, 0.95)
    assert interval.estimate == pytest.approx(1.0 - (15 * 14 + 5 * 4) / (20 * 19))
    low, high = (2.0 * p * (1.0 - p) for p in (share.high, share.low))
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_the_diversity_of_two_groups_that_may_be_even_reaches_one_half():
    assert group_diversity_interval({"a": 10, "b": 9}, level=0.95, seed=0).high >= 0.5


@pytest.mark.parametrize(
    ("counts", "high"), [({"a": 7, "b": 7, "c": 6}, 0.7), ({"a": 60, "b": 1, "c": 0}, 0.3)]
)
def test_the_diversity_of_three_groups_is_drawn(counts, high):
    interval = group_diversity_interval(counts, level=0.95, seed=0)
    assert interval.low <= interval.estimate <= interval.high
    assert interval.high == pytest.approx(
        group_diversity_interval(counts, level=0.95, seed=9).high, abs=0.1
    )
    assert interval.high < high + 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: group_ranking([[1, 2]], level=0.9, seed=0), "n_models, n_prompts, n_groups"),
        (lambda: group_ranking([[[1, 0]], [[1, 1]]], level=0.9, seed=0), "no prompt of 1 has two"),
        (lambda: groups_differ_p_value([1, 2], seed=0), "counts must be"),
        (lambda: total_variation_bounds({"a": 0, "b": 0}, 0, {"a": 0.5, "b": 0.5}), "no image"),
        (lambda: statistics.share_interval([1, 2], 3, 0.9), "successes must be a single number"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_shares_of_groups_differ_between_models_that_show_others():
    assert groups_differ_p_value([[10, 0, 0], [0, 5, 5]], seed=0) < 0.001
    assert groups_differ_p_value([[10, 0], [0, 0]], seed=0) == 1.0
