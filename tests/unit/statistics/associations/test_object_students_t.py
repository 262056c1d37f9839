"""Verdicts on objects ask Student's t over triplets, too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics


def test_a_verdict_on_an_object_asks_students_t():
    men, women = np.array([[5], [6], [4], [9]]), np.array([[1], [3], [2], [2]])
    excess = (0.2 * men - 0.8 * women)[:, 0]
    t = excess.mean() / (excess.std(ddof=1) / 2.0)
    p = statistics.object_bias_p_values(men, women, 0.8, seed=0, alternative="less")
    assert p[0] == pytest.approx(stats.t.cdf(t, 3))
    lower = (0.4 * men - 0.6 * women)[:, 0]
    t = lower.mean() / (lower.std(ddof=1) / 2.0)
    p = statistics.object_bias_p_values(men, women, 0.6, seed=0)
    assert p[0] >= 2.0 * stats.t.sf(t, 3) - 1e-12


def test_triplets_that_agree_leave_students_t_nothing_to_say():
    same = [[4]] * 6
    for bound, passes in ((0.5, False), (0.9, True)):
        p = statistics.object_bias_p_values(same, same, bound, seed=0, alternative="less")
        assert (p[0] <= 0.05) == passes
