"""Shares among people with the picture as the unit: against Clopper-Pearson and random weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_t2i.statistics import share_interval

from pytest_t2i_crowds.clusters import (
    cluster_share_interval,
    cluster_share_p_value,
    positive_chance,
)


@pytest.mark.parametrize(
    ("hits", "n"), [(0, 1), (1, 1), (3, 7), (20, 20), (0, 30), (40, 100), (1, 300)]
)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_people_alone_in_their_pictures_have_the_exact_interval(hits, n, level):
    flags = [1] * hits + [0] * (n - hits)
    found = cluster_share_interval(flags, [1] * n, level=level, most=1)
    exact = share_interval(hits, n, level)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert (found.estimate, found.n) == (exact.estimate, n)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("hits", [1, 5, 9, 90])
def test_p_values_are_those_of_the_binomial(share, hits):
    n = 100 if hits > 10 else 10
    flags = [1] * hits + [0] * (n - hits)
    greater = cluster_share_p_value(flags, [1] * n, share, most=1)
    less = cluster_share_p_value(flags, [1] * n, share, most=1, alternative="less")
    assert greater == pytest.approx(scipy.stats.binom.sf(hits - 1, n, share), rel=1e-6)
    assert less == pytest.approx(scipy.stats.binom.cdf(hits, n, share), rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_ends_are_those_of_randomly_weighted_pictures_and_one_more(n):
    rng = np.random.default_rng(n)
    sizes = rng.integers(1, 9, n)
    hits = 2 * rng.binomial(sizes, 0.4) - sizes
    found = cluster_share_interval(hits, sizes, level=0.9, most=8, low=-1.0)
    weights = rng.exponential(size=(200_000, n + 1))
    members = weights[:, :n] @ sizes + 8 * weights[:, n]
    ends = [(weights[:, :n] @ hits + sign * 8 * weights[:, n]) / members for sign in (-1, 1)]
    low, high = np.quantile(ends[0], 0.05), np.quantile(ends[1], 0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.01)


ROWS = st.lists(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(ROWS, st.floats(0.02, 0.98))
def test_both_groups_are_treated_alike_and_ends_are_where_p_values_are(rows, bound):
    hits, sizes = map(np.array, zip(*rows, strict=True))
    found = cluster_share_interval(hits, sizes, level=0.9, most=8)
    other = cluster_share_interval(sizes - hits, sizes, level=0.9, most=8)
    assert (1 - other.high, 1 - other.low) == pytest.approx((found.low, found.high), abs=1e-9)
    greater = cluster_share_p_value(hits, sizes, bound, most=8)
    mirrored = cluster_share_p_value(sizes - hits, sizes, 1 - bound, most=8, alternative="less")
    assert greater == pytest.approx(mirrored, abs=1e-9)
    assert (greater < 0.05) == (bound < found.low)
    assert found.low <= found.estimate <= found.high


def test_more_dependent_people_have_a_wider_interval():
    apart = cluster_share_interval([1] * 40 + [0] * 40, [1] * 80, level=0.95, most=8)
    together = cluster_share_interval([4] * 10 + [0] * 10, [4] * 20, level=0.95, most=8)
    assert apart.estimate == together.estimate
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


def test_equal_pictures_leave_a_width():
    found = cluster_share_interval([2] * 10, [4] * 10, level=0.95, most=8)
    assert found.high - found.low > 0.2


@pytest.mark.parametrize(
    ("weights", "chance"),
    [([0.0], 1.0), ([1.0, 0.0], 1.0), ([-1.0, 0.0], 0.0), ([1.0, -1.0], 0.5), ([3.0, -1.0], 0.75)],
)
def test_chances_of_weighted_sums(weights, chance):
    assert positive_chance(np.array(weights)) == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(
    ("hits", "sizes", "text"),
    [
        ([], [], "at least one cluster"),
        ([0], [0], "at least one cluster"),
        ([1, 2], [1], "shape"),
        ([3], [2], "hits must lie between 0 and 1 times sizes, got hits=3 for sizes=2"),
        ([-1], [2], "hits must lie between"),
        ([1], [9], "sizes"),
        ([np.nan], [2], "hits"),
    ],
)
def test_what_is_no_share_of_people_is_refused(hits, sizes, text):
    with pytest.raises(ValueError, match=text):
        cluster_share_interval(hits, sizes, level=0.95, most=8)
    with pytest.raises(ValueError, match=text):
        cluster_share_p_value(hits, sizes, 0.5, most=8)


def test_a_bound_or_an_alternative_that_is_none_is_refused():
    with pytest.raises(ValueError, match="bound"):
        cluster_share_p_value([1], [2], 1.5, most=8)
    with pytest.raises(ValueError, match="alternative"):
        cluster_share_p_value([1], [2], 0.5, most=8, alternative="more")
