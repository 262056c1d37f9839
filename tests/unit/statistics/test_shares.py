"""A share over prompts covers whatever ties images together, and is exact with one image each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.statistics.shares import share_by_prompt_interval

LEVEL = 0.95


def interval(successes, n, level=LEVEL):
    return share_by_prompt_interval(successes, n, level=level)


@pytest.mark.parametrize("k", [0, 1, 7, 20])
def test_with_one_image_each_it_is_scipys_exact_one(k):
    known = interval([1] * k + [0] * (20 - k), [1] * 20)
    low, high = stats.binomtest(k, 20).proportion_ci(LEVEL, "exact")
    assert (known.low, known.high) == pytest.approx((low, high), abs=1e-12)
    assert (known.method, known.n) == ("clopper-pearson", 20)


@pytest.mark.parametrize("share", [0, 1])
def test_at_the_ends_several_images_say_as_much_as_one(share):
    several, one = interval([4 * share] * 20, [4] * 20), interval([share] * 20, [1] * 20)
    assert (several.low, several.high) == pytest.approx((one.low, one.high), abs=1e-9)
    assert (several.method, several.n) == ("chernoff by prompt", 20)


def test_its_ends_are_where_chernoffs_bound_is():
    known = interval([1, 2, 0, 0], [4, 4, 4, 4])
    for mean in (known.low, known.high):
        x = known.estimate
        divergence = x * np.log(x / mean) + (1 - x) * np.log((1 - x) / (1 - mean))
        assert 4 * divergence == pytest.approx(np.log(2 / 0.05), rel=1e-9)


def test_more_images_of_the_same_prompts_say_no_more():
    few, many = interval([1, 2, 0, 0], [2, 4, 2, 4]), interval([50, 50, 0, 0], [100, 100, 9, 100])
    assert (few.low, few.high) == pytest.approx((many.low, many.high))


def test_prompts_without_images_are_left_out():
    assert interval([1, 0, 0], [2, 2, 0]) == interval([1, 0], [2, 2])


@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("prompts", [3, 10, 40])
@pytest.mark.parametrize("images", [1, 4])
def test_it_covers_where_all_images_of_a_prompt_are_alike(mean, prompts, images):
    """By enumeration, not by drawing: k of m prompts are rewritten, with all of their images."""
    covered = 0.0
    for k in range(prompts + 1):
        known = interval([images] * k + [0] * (prompts - k), [images] * prompts)
        if known.low <= mean <= known.high:
            covered += stats.binom.pmf(k, prompts, mean)
    assert covered >= LEVEL


def test_a_pooled_interval_would_not_cover_there():
    """What the unit is for: 40 images of 10 prompts are no 40 images."""
    covered = 0.0
    for k in range(11):
        pooled = statistics.share_interval(4 * k, 40, LEVEL)
        covered += stats.binom.pmf(k, 10, 0.3) * (pooled.low <= 0.3 <= pooled.high)
    assert covered < 0.75


@pytest.mark.parametrize(
    ("successes", "n", "told"),
    [
        ([], [], "at least one image"),
        ([0, 0], [0, 0], "at least one image"),
        ([3], [2], r"successes must not exceed n, got successes\[0\]=3"),
        ([1, 1], [2], "successes"),
        ([0.5], [2], "whole"),
        ([-1], [2], "negative"),
    ],
)
def test_what_is_no_count_is_refused(successes, n, told):
    with pytest.raises(ValueError, match=told):
        interval(successes, n)
