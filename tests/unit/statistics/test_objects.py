"""Verdicts on objects are Student's t over triplets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics import independence_p_value, object_bias_intervals
from pytest_t2i.statistics.objects import _permuted, object_bias_p_values


def tail(values, share):
    """Student's tail with three degrees of freedom, and one occurrence more that may be either."""
    n = len(values)
    squares = np.sum((values - values.mean()) ** 2) + share * (1.0 - share)
    return stats.t.sf(values.mean() / np.sqrt(squares / (n - 1) / n), 3)


def test_a_verdict_on_an_object_is_students_t():
    men, women = np.array([[5], [6], [4], [9]]), np.array([[1], [3], [2], [2]])
    excess = (0.2 * men - 0.8 * women)[:, 0]
    p = object_bias_p_values(men, women, 0.8, seed=0, alternative="less")
    assert p[0] == pytest.approx(tail(-excess, 0.2))
    # Beyond a limit one triplet of the mean size lies on the other side.
    beyond = np.append(0.4 * men - 0.6 * women, -0.6 * 1.1 * 32 / 4)
    within = (0.6 * men - 0.4 * women)[:, 0]
    p = object_bias_p_values(men, women, 0.6, seed=0)
    assert p[0] == pytest.approx(tail(beyond, 0.6) + tail(within, 0.4))


@pytest.mark.parametrize(("limit", "triplets"), [(0.6, 7), (0.8, 15), (0.9, 29)])
def test_triplets_with_one_gender_alone_fail_where_they_are_enough(limit, triplets):
    with_it, without = [[[4]] * n + [[0]] * 9 for n in (triplets, triplets - 1)]
    for men, fails in ((with_it, True), (without, False)):
        women = [[0]] * len(men)
        p = object_bias_p_values(men, women, limit, seed=0)[0]
        assert (p <= 0.05) == fails
    assert limit**triplets <= 0.05


def test_the_interval_decides():
    rng = np.random.default_rng(4)
    men, women = rng.poisson(2.0, (12, 60)), rng.poisson(rng.uniform(0.1, 3.0, 60), (12, 60))
    intervals = object_bias_intervals(men, women, level=0.9)
    for limit in (0.5, 0.6, 0.8):
        greater = object_bias_p_values(men, women, limit, seed=0)
        less = object_bias_p_values(men, women, limit, seed=0, alternative="less")
        for interval, beyond, within in zip(intervals, greater, less, strict=True):
            if beyond <= 0.05:
                assert max(interval.low, 1.0 - interval.high) >= limit
            highest = max(interval.high, 1.0 - interval.low)
            assert (within <= 0.05) == (highest <= limit) or abs(highest - limit) < 1e-6


def test_triplets_that_agree_leave_students_t_nothing_to_say():
    same = [[4]] * 6
    for bound, passes in ((0.5, False), (0.9, True)):
        p = object_bias_p_values(same, same, bound, seed=0, alternative="less")
        assert (p[0] <= 0.05) == passes


def dealt(men, women):
    """Chance of so large a difference, by all ways to deal the images out."""
    images, n = np.concatenate([men, women]), len(men)
    observed = abs(men.sum() - women.sum())
    deals = list(itertools.combinations(range(len(images)), n))
    sums = [abs(2 * images[list(chosen)].sum() - images.sum()) for chosen in deals]
    return np.mean([one >= observed for one in sums])


@pytest.mark.parametrize("seed", range(4))
def test_the_p_value_is_that_of_all_deals(seed):
    rng = np.random.default_rng(seed)
    men, women = rng.integers(0, 3, (5, 1)), rng.integers(0, 2, (5, 1))
    exact = dealt(men[:, 0], women[:, 0])
    assert _permuted(men, women, 0, paired=False)[0] == pytest.approx(exact, abs=0.05)
    told = object_bias_p_values(men, women, 0.5, seed=0, paired=False)[0]
    assert told >= exact - 0.02


@pytest.mark.slow
def test_a_fair_model_that_draws_anew_rarely_fails():
    rng = np.random.default_rng(5)
    alarms = independent = 0
    for k in range(150):
        counts = rng.binomial(1, 0.4, (30, 2, 3))
        p = independence_p_value(counts, level=0.95, seed=k, permutations=200, paired=False)
        independent += p.estimate <= 0.05
        men, women = counts[:, 0], counts[:, 1]
        alarms += object_bias_p_values(men, women, 0.5, seed=k, paired=False)[0] <= 0.05
    # 5 % of 150, and three standard errors.
    assert independent <= 15
    assert alarms <= 15


def test_a_dependence_is_seen():
    rng = np.random.default_rng(1)
    counts = np.stack(
        [rng.binomial(1, [0.9, 0.1, 0.5], (40, 3)), rng.binomial(1, [0.1, 0.9, 0.5], (40, 3))], 1
    )
    p = independence_p_value(counts, level=0.95, seed=0, permutations=200, paired=False)
    assert p.estimate < 0.01
