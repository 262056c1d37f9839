"""Tests and intervals of distance correlation: all orders by hand, coverage, refusals."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pytest_t2i import metrics, statistics

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
