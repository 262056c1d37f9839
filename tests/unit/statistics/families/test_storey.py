"""Benjamini-Hochberg that pays for true nulls alone, and its relative for any dependence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from pytest_t2i import statistics
from pytest_t2i.statistics.families.false_discovery import benjamini_yekutieli, storey


def test_it_pays_for_as_many_nulls_as_p_values_above_a_half_tell():
    p = [0.001, 0.004, 0.01, 0.02, 0.03, 0.04, 0.2, 0.7, 0.9, 1.0]
    nulls = 2.0 * (1 + 3)
    small = np.array(p[:6])
    ranked = small * nulls / np.arange(1, 7)
    wanted = np.minimum.accumulate(ranked[::-1])[::-1]
    assert storey(p, 0.95)[:6] == pytest.approx(wanted)
    assert storey(p, 0.95)[6:].tolist() == [1.0] * 4


def test_it_never_pays_for_more_than_there_are():
    p = [0.004] + [1.0] * 9
    assert storey(p, 0.95)[0] == pytest.approx(0.04)


def test_weak_ones_are_not_carried_further_than_twice_the_level():
    p = [1e-6] * 18 + [0.099, 0.101]
    found = storey(p, 0.95)
    assert found[18] <= 0.05
    assert found[19] == 1.0


def test_few_are_adjusted_by_benjamini_hochberg():
    p = [0.01, 0.04, 0.9]
    assert storey(p, 0.95)[:2] == pytest.approx(statistics.benjamini_hochberg(p)[:2], abs=0.0)


def test_nothing_is_nothing():
    assert storey([], 0.95).size == 0
    assert benjamini_yekutieli([]).size == 0


@pytest.mark.parametrize("p", [[0.5, 1.2], [-0.1], [[0.1]]])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(ValueError, match="p_values"):
        storey(p, 0.95)


def test_any_dependence_is_scipys():
    p = np.random.default_rng(0).random(30) ** 3
    theirs = false_discovery_control(p, method="by")
    np.testing.assert_allclose(benjamini_yekutieli(p), theirs)


def test_false_discoveries_among_independent_p_values():
    rng = np.random.default_rng(5)
    wrong = []
    for _ in range(400):
        p = np.concatenate([rng.random(60), rng.beta(0.2, 12, 40)])
        found = storey(p, 0.95) <= 0.05
        wrong.append(found[:60].sum() / max(1, found.sum()))
    assert np.mean(wrong) <= 0.06
