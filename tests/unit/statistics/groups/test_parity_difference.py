"""Largest minus smallest share of men among groups of prompts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from pytest_t2i import metrics, statistics


def drawn(shares: dict[str, list[float]], n: int, rng: np.random.Generator) -> dict[str, list]:
    return {g: [rng.random(n) < p for p in of_group] for g, of_group in shares.items()}


@pytest.mark.parametrize("words", ["fixed", "sample"])
@pytest.mark.parametrize("apart", [0.0, 0.2, 0.6])
@pytest.mark.slow
def test_interval_covers_the_gap_of_groups_of_prompts(apart: float, words: Any) -> None:
    """Prompts of a group vary about its mean: they are the clusters."""
    rng, missed = np.random.default_rng(8), 0
    for seed in range(60):
        shares = {
            group: list(np.clip(middle + rng.choice([-0.15, 0.15], size=12), 0, 1))
            for group, middle in (("a", 0.2), ("b", 0.2 + apart / 2), ("c", 0.2 + apart))
        }
        prompts = statistics.parity_difference_interval(
            drawn(shares, 10, rng), level=0.95, seed=seed, words=words, resamples=400
        )
        if words == "fixed":
            means = [np.mean(group) for group in shares.values()]
            apart = max(means) - min(means)
        missed += not prompts.low <= apart <= prompts.high
    # At 95 %, 7 or more misses in 60 have a chance of 1 in 30; Bonferroni gives fewer.
    assert missed <= 6


def test_single_prompts_have_exact_intervals() -> None:
    groups = {"a": [[1] * 18 + [0] * 2], "b": [[1] * 4 + [0] * 16]}
    intervals = statistics.parity_difference_interval(groups, level=0.95, seed=0)
    a, b = (statistics.clopper_pearson(k, 20, 0.975) for k in (18, 4))
    down = math.hypot(a.estimate - a.low, b.high - b.estimate)
    a, b = (statistics.clopper_pearson(k, 20, 0.95) for k in (18, 4))
    up = math.hypot(a.high - a.estimate, b.estimate - b.low)
    assert (intervals.low, intervals.high) == pytest.approx((0.7 - down, 0.7 + up))
    sampled = statistics.parity_difference_interval(groups, level=0.95, seed=0, words="sample")
    a, b = (statistics.clopper_pearson(k, 20, 0.975) for k in (18, 4))
    assert (sampled.low, sampled.high) == pytest.approx((a.low - b.high, a.high - b.low))
    assert intervals.estimate == pytest.approx(
        metrics.demographic_parity_difference({"a": 0.9, "b": 0.2})
    )


def test_a_group_without_images_may_have_any_share() -> None:
    groups = {"a": [[1] * 20], "b": [[1] * 20], "c": [[]]}
    result = statistics.parity_difference_interval(groups, level=0.95, seed=0)
    assert (result.estimate, result.low, result.high) == (0.0, 0.0, 1.0)


def test_the_estimate_is_the_range_of_rates_that_scipy_gives() -> None:
    rng = np.random.default_rng(0)
    group, prompt, man = rng.integers(0, 3, 300), rng.integers(0, 4, 300), rng.integers(0, 2, 300)
    rates = ndimage.mean(man, group, index=[0, 1, 2])
    ours = metrics.demographic_parity_difference({str(g): rates[g] for g in range(3)})
    assert ours == pytest.approx(np.ptp(rates))
    groups = {str(g): [man[(group == g) & (prompt == p)] for p in range(4)] for g in range(3)}
    gives = statistics.parity_difference_interval(groups, level=0.95, seed=0)
    assert gives.estimate == pytest.approx(ours)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({"a": [[1]]}, "at least two groups"),
        ({"a": [[1]], "b": [[]]}, "at least two groups"),
        ({"a": [[0.5]], "b": [[1]]}, "True or False"),
        ({}, "at least one group"),
    ],
)
def test_what_makes_no_sense_is_refused(groups: dict[str, list], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        statistics.parity_difference_interval(groups, level=0.95, seed=0)
    with pytest.raises(ValueError, match="rates"):
        metrics.demographic_parity_difference({"a": 0.5})
