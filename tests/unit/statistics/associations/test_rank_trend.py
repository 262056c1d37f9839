"""Rank correlation of scores with a quantity, and differences of shares."""

from __future__ import annotations

import pytest
from scipy.stats import spearmanr

from pytest_t2i import statistics
from pytest_t2i.statistics.associations.rank_trend import fewest_groups

CLEAR = [[(95, 100, 0.5, 1)], [(75, 100, 0.5, 1)], [(55, 100, 0.5, 1)], [(65, 100, 0.5, 1)]]


def test_the_estimate_is_spearmans():
    users = [78.1, 96.8, 881.3, 300.0]
    interval = statistics.rank_correlation_interval(users, CLEAR, level=0.95, seed=0)
    assert interval.estimate == pytest.approx(spearmanr(users, [0.45, 0.25, 0.05, 0.15]).statistic)
    assert interval.low <= interval.estimate <= interval.high
    again = statistics.rank_correlation_interval(users, CLEAR, level=0.95, seed=0)
    assert again == interval
    turned = statistics.rank_correlation_interval(users[::-1], CLEAR[::-1], level=0.95, seed=0)
    assert turned.estimate == pytest.approx(interval.estimate)


def test_few_images_leave_the_order_open():
    few = [[(k * present // 100, k, 0.5, 1) for present, _, _, _ in group]
           for k, group in zip([10] * 4, CLEAR, strict=True)]  # fmt: skip
    interval = statistics.rank_correlation_interval([1, 2, 4, 3], few, level=0.95, seed=0)
    assert interval.high > 0


def test_no_stereotype_anywhere_is_no_correlation():
    none = [[(1, 100, 0.5, 1)], [(2, 100, 0.5, 1)], [(3, 100, 0.5, 1)]]
    interval = statistics.rank_correlation_interval([1, 2, 3], none, level=0.95, seed=0)
    assert (interval.estimate, interval.low, interval.high) == (0.0, 0.0, 0.0)
    rarely = [[(1, 100, 0.5, -1)], [(20, 100, 0.5, -1)], [(40, 100, 0.5, -1)]]
    under = statistics.rank_correlation_interval([1, 2, 3], rarely, level=0.95, seed=0)
    assert under.estimate == -1.0


def test_groups_whose_intervals_meet_may_change_places():
    """The first two do, the others stay apart: ranks 1 and 2 are open, 3, 4 and 5 are not."""
    groups = [[(k, 200, 0.1, 1)] for k in (30, 34, 90, 140, 190)]
    found = statistics.rank_correlation_interval(range(5), groups, level=0.95, seed=0)
    changed = spearmanr(range(5), [2, 1, 3, 4, 5]).statistic
    assert (found.low, found.estimate, found.high) == pytest.approx((changed, 1.0, 1.0))
    turned = statistics.rank_correlation_interval(range(5)[::-1], groups, level=0.95, seed=0)
    assert (turned.low, turned.high) == pytest.approx((-1.0, -changed))


def test_close_groups_leave_every_order_open():
    groups = [[(k, 20, 0.3, 1)] for k in (8, 9, 9, 10, 10, 11, 11, 12)]
    found = statistics.rank_correlation_interval(range(8), groups, level=0.95, seed=0)
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
        statistics.rank_correlation_interval(quantity, groups, level=0.95, seed=0)


@pytest.mark.parametrize(
    ("level", "groups"), [(0.5, 3), (0.66, 3), (0.67, 4), (0.9, 4), (0.95, 5), (0.99, 6)]
)
def test_a_perfect_order_of_fewer_groups_is_no_news(level, groups):
    """Both perfect orders of n have 2 chances in n!: 1 in 3, 12, 60, 360."""
    assert fewest_groups(level) == groups
