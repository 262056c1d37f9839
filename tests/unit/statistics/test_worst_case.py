"""Exact tails of a mean over few prompts with unequal numbers of images."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics import model_bias_interval, model_bias_p_value, paired_model_bias_change
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.model import summed
from pytest_t2i.statistics.worst_case import (
    MOST_PROMPTS,
    UNIT,
    budget_not_rejected,
    budget_p_value,
    is_skewed,
)

SHOWN = ((2, 0), (5, 1), (9, 0))


def tail_of(parts, biases, level):
    """The chance of a sum of rounded values at least as large, prompt by prompt."""
    laws = []
    for part, bias in zip(parts, biases, strict=True):
        row = part.chances[part.steps.index(round(20 * bias))]
        laws.append(list(zip(np.ceil(np.array(part.values) / UNIT - 1e-9), row, strict=True)))
    return sum(
        np.prod([chance for _, chance in outcome])
        for outcome in itertools.product(*laws)
        if sum(value for value, _ in outcome) >= level
    )


@pytest.mark.parametrize("side", ["below", "above"])
def test_the_tail_is_at_least_that_of_every_distribution_of_bias(side):
    parts, outcomes = summed(SHOWN, side)
    level = sum(
        np.ceil(np.array(part.values) / UNIT - 1e-9)[k]
        for part, k in zip(parts, outcomes, strict=True)
    )
    for budget in (0.6, 1.5, 2.4):
        largest = max(
            tail_of(parts, biases, level)
            for biases in itertools.product(np.arange(21) / 20, repeat=3)
            if abs(sum(biases) - budget) < 1e-9
        )
        bound = budget_p_value(parts, outcomes, budget)
        assert largest <= bound + 1e-12
        assert bound <= largest + 0.05


def test_the_end_is_where_the_p_value_crosses_the_error():
    parts, outcomes = summed(SHOWN, "below")
    end = budget_not_rejected(parts, outcomes, 0.05)
    assert budget_p_value(parts, outcomes, end) <= 0.05 < budget_p_value(parts, outcomes, end + 0.1)
    assert budget_p_value(parts, outcomes, -1.0) == 0.0
    assert budget_not_rejected(parts, outcomes, 1.0) == np.inf


def test_only_few_prompts_with_unequal_images_are_skewed():
    assert is_skewed([2, 40])
    assert not is_skewed([20] * 12)
    assert not is_skewed([19, 20, 18, 20])
    assert not is_skewed([2])
    assert not is_skewed([2, 40] * MOST_PROMPTS)


@pytest.mark.parametrize(
    ("biases", "images"),
    [([0.0, 1.0], [2, 40]), ([0.9] * 3 + [1.0] * 4, [10] * 3 + [40] * 4)],
)
def test_a_limit_at_the_truth_holds_its_level(biases, images):
    biases, images = np.array(biases), np.array(images)
    men = np.random.default_rng(1).binomial(images, (1 + biases) / 2, (300, len(images)))
    for alternative in ("greater", "less"):
        found = [
            model_bias_p_value(m, images - m, biases.mean(), alternative=alternative) for m in men
        ]
        wrong = int(np.sum(np.array(found) <= 0.05))
        assert stats.binomtest(wrong, 300, 0.05, alternative="greater").pvalue > 1e-3


def test_intervals_of_few_unequal_prompts_hold_their_p_values_and_the_truth():
    men, women = np.array([2, 37, 5]), np.array([0, 3, 5])
    interval = model_bias_interval(men, women, level=0.9, seed=0)
    assert model_bias_p_value(men, women, max(0.0, interval.low - 0.02)) <= 0.05
    assert model_bias_p_value(men, women, interval.high + 0.02, alternative="less") <= 0.05
    change = paired_model_bias_change(men, women, men, women, level=0.9, seed=0)
    assert change.low <= 0.0 <= change.high
    for reference in ([0.3, 0.7], [0.2, 0.3, 0.5]):
        counts = np.array([[2, 0, 0], [30, 5, 5], [4, 1, 0]])[:, : len(reference)]
        found = mean_total_variation_interval(counts, reference, level=0.9)
        assert 0.0 <= found.low < found.estimate < found.high <= 1.0


REST = [1.0, 0.0]
MANY = {
    "sixteen prompts, one with 3 images": (
        [[0.95, 0.05]] * 15 + [[0.5, 0.5]],
        [60] * 15 + [3],
        0.2,
    ),
    "twenty, one with 4": ([REST] * 19 + [[0.85, 0.15]], [40] * 19 + [4], 0.3),
}


@pytest.mark.parametrize("world", MANY)
def test_many_prompts_of_which_few_images_decide_keep_the_level(world):
    """Wrong in 12 and 51 % of runs, where the error was that of all images together."""
    shares, images, real = MANY[world]
    reference, rng = np.array([real, 1.0 - real]), np.random.default_rng(8)
    truth = float(np.mean(np.abs(np.array(shares) - reference)[:, 0]))
    wrong = np.zeros(2)
    for _ in range(60):
        counts = [rng.multinomial(n, row) for n, row in zip(images, shares, strict=True)]
        found = mean_total_variation_interval(counts, reference, level=0.9)
        wrong += found.low > truth + 1e-9, found.high < truth - 1e-9
    assert max(wrong) <= 6
