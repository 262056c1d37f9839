"""Verdicts on objects ask Student's t over triplets, too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics import independence_p_value
from pytest_t2i.statistics.objects import _permuted, object_bias_p_values


def test_a_verdict_on_an_object_asks_students_t():
    men, women = np.array([[5], [6], [4], [9]]), np.array([[1], [3], [2], [2]])
    excess = (0.2 * men - 0.8 * women)[:, 0]
    t = excess.mean() / (excess.std(ddof=1) / 2.0)
    p = object_bias_p_values(men, women, 0.8, seed=0, alternative="less")
    assert p[0] == pytest.approx(stats.t.cdf(t, 3))
    lower = (0.4 * men - 0.6 * women)[:, 0]
    t = lower.mean() / (lower.std(ddof=1) / 2.0)
    p = object_bias_p_values(men, women, 0.6, seed=0)
    assert p[0] >= 2.0 * stats.t.sf(t, 3) - 1e-12


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
