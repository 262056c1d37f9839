"""Places of models: right where they are clear, open where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import ranking
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.ranks import groups_differ_p_value


def draw(rng, shares, n):
    men = rng.binomial(n, shares)
    return men, n - men


def test_clear_places():
    ranks = ranking(
        [[20] * 20, [10] * 20, [15] * 20], [[0] * 20, [10] * 20, [5] * 20], level=0.95, seed=1
    )
    assert [(r.low, r.high) for r in ranks] == [(3, 3), (1, 1), (2, 2)]
    assert ranks[1].least_biased == ranks[0].most_biased == 1.0


def test_places_of_equal_models_are_open_and_unequal_counts_favour_nobody():
    """The place that is told holds the (arbitrary) truth; fewer images do not look more biased."""
    rng = np.random.default_rng(5)
    shares = np.clip(rng.normal(0.5, 0.2, 50), 0.02, 0.98)
    sure = 0
    for _ in range(60):
        counts = [draw(rng, shares, n) for n in (10, 40, 100)]
        least = min(c[0] + c[1] for c in [(10, 0)])
        ranks = ranking([c[0] for c in counts], [c[1] for c in counts], level=0.95, seed=least)
        sure += any(r.low == r.high for r in ranks)
        assert [r.least_biased for r in ranks if r.low == 1 != r.high] == [None] * 3
    assert sure == 0


@pytest.mark.parametrize("n", [8, 20, 40, 100])
def test_equal_scores_are_not_told_apart_by_how_bias_is_spread(n):
    """All prompts a little biased against a few one-sided ones: more images do not mislead."""
    rng = np.random.default_rng(6)
    few = np.where(np.arange(100) < 10, 1.0, 0.5)
    told = 0
    for seed in range(20):
        counts = [draw(rng, shares, n) for shares in (np.full(100, 0.55), few)]
        ranks = ranking(*map(list, zip(*counts, strict=True)), level=0.95, seed=seed, draws=1000)
        told += any(r.low == r.high for r in ranks)
    assert told <= 2


def test_a_chance_says_at_least_or_at_most():
    rng = np.random.default_rng(7)
    counts = [draw(rng, shares, 40) for shares in (np.full(50, 0.5), np.full(50, 0.8))]
    even, biased = ranking(*map(list, zip(*counts, strict=True)), level=0.95, seed=1)
    assert (even.low, even.high, biased.low, biased.high) == (1, 1, 2, 2)
    assert even.least_biased == biased.most_biased > 0.97
    assert even.most_biased == biased.least_biased < 0.03


@pytest.mark.parametrize(
    ("male", "female", "problem"),
    [
        ([[1, 2]], [[1, 2]], "two models or more"),
        ([[1, 2], [1, 2]], [[1], [1]], "one shape"),
        ([[1], [2]], [[0], [2]], "two clear images of every model"),
        ([[1.5], [2]], [[3], [2]], "whole"),
    ],
)
def test_bad_counts(male, female, problem):
    with pytest.raises(ValueError, match=problem):
        ranking(male, female, level=0.95, seed=0)


def test_bad_options():
    with pytest.raises(ValueError, match="level"):
        ranking([[5], [5]], [[5], [5]], level=1.0, seed=0)


def test_prompts_that_differ():
    assert groups_differ_p_value([[10, 0], [0, 10]], seed=0) < 1e-4
    assert groups_differ_p_value([[10, 0], [0, 10], [5, 5]], seed=0) < 0.01
    assert groups_differ_p_value([[5, 5]] * 3, seed=0) == 1.0
    assert groups_differ_p_value([[10, 0], [0, 0]], seed=0) == 1.0


def test_holm_against_its_definition():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0
