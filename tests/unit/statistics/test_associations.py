"""Tests and intervals of distance correlation: all orders by hand, coverage, refusals."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from pytest_t2i import metrics, statistics
from pytest_t2i.statistics.associations import fewest_groups, rank_correlation_interval

SIX = np.array([0.0, 1.0, 2.5, 4.0, 7.0, 11.0])


def squared_of_normals(rho):
    """Squared distance correlation of a bivariate normal (Szekely et al. 2007, Theorem 7)."""
    top = rho * np.arcsin(rho) + np.sqrt(1 - rho**2) - rho * np.arcsin(rho / 2)
    return (top - np.sqrt(4 - rho**2) + 1) / (1 + np.pi / 3 - np.sqrt(3))


def test_the_p_value_is_the_share_of_orders_that_reach_it():
    other = np.array([3.0, 0.0, 1.0, 2.0, 9.0, 4.0])
    seen = metrics.corrected_distance_correlation(SIX, other)
    all_orders = [
        metrics.corrected_distance_correlation(SIX, other[list(order)])
        for order in permutations(range(6))
    ]
    exact = np.mean(np.array(all_orders) >= seen - 1e-12)
    drawn = statistics.distance_correlation_p_value(SIX, other, seed=0, permutations=4999)
    assert drawn == pytest.approx(exact, abs=0.03)


def test_independent_spaces_are_found_to_depend_as_often_as_the_level_says():
    rng = np.random.default_rng(1)
    p_values = [
        statistics.distance_correlation_p_value(
            rng.normal(size=(10, 2)), rng.normal(size=(10, 5)), seed=k, permutations=99
        )
        for k in range(300)
    ]
    assert np.mean(np.array(p_values) <= 0.1) < 0.1 + 3 * np.sqrt(0.09 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_the_interval_of_the_corrected_one_holds(rho):
    rng = np.random.default_rng(2)
    holds = 0
    for _ in range(200):
        a = rng.normal(size=40)
        b = rho * a + np.sqrt(1 - rho**2) * rng.normal(size=40)
        interval = statistics.distance_correlation_interval(a, b, level=0.9, corrected=True)
        holds += interval.low <= squared_of_normals(rho) <= interval.high
    assert holds / 200 > 0.9 - 3 * np.sqrt(0.09 / 200)


def test_images_of_one_prompt_are_left_out_together():
    rng = np.random.default_rng(3)
    people = rng.normal(size=(15, 2))
    a = np.repeat(people, 4, axis=0) + 0.01 * rng.normal(size=(60, 2))
    b = np.repeat(people**2, 4, axis=0)
    prompts = np.repeat(np.arange(15), 4).tolist()
    alone = statistics.distance_correlation_interval(a, b, level=0.95)
    together = statistics.distance_correlation_interval(a, b, level=0.95, clusters=prompts)
    assert together.estimate == alone.estimate == metrics.distance_correlation(a, b)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert (alone.n, together.n) == (60, 15)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"level": 1.0}, "level"),
        ({"level": 0.9, "clusters": "aab"}, "one for each of 6 images, got 3"),
        ({"level": 0.9, "clusters": "aaabbb"}, "at least 3 clusters, got 2"),
        ({"level": 0.9, "clusters": "aaaabc", "corrected": True}, "leave at least 4 images"),
    ],
)
def test_refusals_of_intervals(given, told):
    with pytest.raises(ValueError, match=told):
        statistics.distance_correlation_interval(SIX, SIX, **given)


def test_too_few_permutations_are_refused():
    with pytest.raises(ValueError, match="permutations=98"):
        statistics.distance_correlation_p_value(SIX, SIX, seed=0, permutations=98)


CLEAR = [[(95, 100, 0.5, 1)], [(75, 100, 0.5, 1)], [(55, 100, 0.5, 1)], [(65, 100, 0.5, 1)]]


def test_the_estimate_is_spearmans():
    users = [78.1, 96.8, 881.3, 300.0]
    interval = rank_correlation_interval(users, CLEAR, level=0.95, seed=0)
    assert interval.estimate == pytest.approx(spearmanr(users, [0.45, 0.25, 0.05, 0.15]).statistic)
    assert interval.low <= interval.estimate <= interval.high
    again = rank_correlation_interval(users, CLEAR, level=0.95, seed=0)
    assert again == interval
    turned = rank_correlation_interval(users[::-1], CLEAR[::-1], level=0.95, seed=0)
    assert turned.estimate == pytest.approx(interval.estimate)


def test_few_images_leave_the_order_open():
    few = [[(k * present // 100, k, 0.5, 1) for present, _, _, _ in group]
           for k, group in zip([10] * 4, CLEAR, strict=True)]  # fmt: skip
    interval = rank_correlation_interval([1, 2, 4, 3], few, level=0.95, seed=0)
    assert interval.high > 0


def test_no_stereotype_anywhere_is_no_correlation():
    none = [[(1, 100, 0.5, 1)], [(2, 100, 0.5, 1)], [(3, 100, 0.5, 1)]]
    interval = rank_correlation_interval([1, 2, 3], none, level=0.95, seed=0)
    assert (interval.estimate, interval.low, interval.high) == (0.0, 0.0, 0.0)
    rarely = [[(1, 100, 0.5, -1)], [(20, 100, 0.5, -1)], [(40, 100, 0.5, -1)]]
    under = rank_correlation_interval([1, 2, 3], rarely, level=0.95, seed=0)
    assert under.estimate == -1.0


def test_groups_whose_intervals_meet_may_change_places():
    """The first two do, the others stay apart: ranks 1 and 2 are open, 3, 4 and 5 are not."""
    groups = [[(k, 200, 0.1, 1)] for k in (30, 34, 90, 140, 190)]
    found = rank_correlation_interval(range(5), groups, level=0.95, seed=0)
    changed = spearmanr(range(5), [2, 1, 3, 4, 5]).statistic
    assert (found.low, found.estimate, found.high) == pytest.approx((changed, 1.0, 1.0))
    turned = rank_correlation_interval(range(5)[::-1], groups, level=0.95, seed=0)
    assert (turned.low, turned.high) == pytest.approx((-1.0, -changed))


def test_close_groups_leave_every_order_open():
    groups = [[(k, 20, 0.3, 1)] for k in (8, 9, 9, 10, 10, 11, 11, 12)]
    found = rank_correlation_interval(range(8), groups, level=0.95, seed=0)
    assert (found.low, found.high) == pytest.approx((-1.0, 1.0))


@pytest.mark.parametrize(
    ("quantity", "groups", "expected"),
    [
        ([1, 2], CLEAR[:2], "at least 3 groups"),
        ([1, 2, 3], CLEAR, "at least 3 groups"),
        ([2, 2, 2, 2], CLEAR, "quantity must differ"),
        ([1, 2, 3], [[(0, 0, 0.5, 1)], *CLEAR[:2]], "must hold judged images"),
    ],
)
def test_refusals(quantity, groups, expected):
    with pytest.raises(ValueError, match=expected):
        rank_correlation_interval(quantity, groups, level=0.95, seed=0)


@pytest.mark.parametrize(
    ("level", "groups"), [(0.5, 3), (0.66, 3), (0.67, 4), (0.9, 4), (0.95, 5), (0.99, 6)]
)
def test_a_perfect_order_of_fewer_groups_is_no_news(level, groups):
    """Both perfect orders of n have 2 chances in n!: 1 in 3, 12, 60, 360."""
    assert fewest_groups(level) == groups
