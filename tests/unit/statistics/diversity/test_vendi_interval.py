"""The interval of the Vendi score: what few images may have missed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.metrics import vendi_score
from pytest_t2i.statistics import vendi_interval
from pytest_t2i.statistics.diversity.half_samples import scores_of_halves
from pytest_t2i.statistics.diversity.vendi import (
    growth_interval,
    unlike_images,
    vendi_at_level,
    with_unseen,
)


def drawn(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_images_that_are_all_the_same_may_have_missed_a_kind():
    found = growth_interval([[1.0, 0.0]] * 10, level=0.9, seed=0, resamples=10)
    share = 1.0 - 0.05**0.1
    entropy = -share * math.log(share) - (1.0 - share) * math.log(1.0 - share)
    assert (found.low, found.estimate) == (1.0, 1.0)
    assert found.high == pytest.approx(math.exp(entropy))


@pytest.mark.parametrize(("n", "d", "times"), [(60, 3, 2.0), (12, 40, 4.0)])
def test_growth_goes_on_twice_or_four_times(n, d, times):
    rows = drawn(1, n, d) + (0.0 if times > 2 else 0.5)
    score = vendi_score(rows)
    assert (score > n / 3) == (times > 2)
    halves = scores_of_halves(vendi_score, rows, seed=4, resamples=50)
    growth = score - float(np.mean(halves.scores))
    reach = float(stats.t.ppf(0.999, n - 1)) * halves.spread
    found = growth_interval(rows, level=0.998, seed=4, resamples=50)
    share = 1.0 - 0.001 ** (1.0 / n)
    entropy = -share * math.log(share) - (1.0 - share) * math.log(1.0 - share)
    grown = score + times * growth + reach
    missed = score ** (1.0 - share) * math.exp(entropy) + growth
    assert found.high == pytest.approx(max(grown, missed))
    assert found.low == pytest.approx(max(1.0, score - reach))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "d"), [(30, 4), (9, 30), (20, 5)])
def test_another_level_is_what_the_images_say(seed, n, d):
    rows = drawn(seed, n, d)
    known = growth_interval(rows, level=0.95, seed=0, resamples=40)
    for level in (0.5, 0.9, 0.99):
        direct = growth_interval(rows, level=level, seed=0, resamples=40)
        told = vendi_at_level(known, level)
        assert (told.low, told.high) == pytest.approx((direct.low, direct.high))


def test_a_low_end_that_was_cut_off_makes_no_other_level_too_narrow():
    rows = np.array([[1.0, 0.0]] * 9 + [[0.0, 1.0]])
    known = growth_interval(rows, level=0.95, seed=0, resamples=60)
    assert known.low == 1.0
    direct = growth_interval(rows, level=0.9, seed=0, resamples=60)
    assert vendi_at_level(known, 0.9).high >= direct.high - 0.05


@pytest.mark.parametrize(
    ("kinds", "unlike"), [([0, 0, 0, 1], 1), ([0, 0, 1, 1], 0), ([0, 1, 2, 3], 4), ([0, 0], 0)]
)
def test_images_unlike_all_others_are_counted(kinds, unlike):
    assert unlike_images(np.eye(4)[kinds]) == pytest.approx(unlike)


def test_kinds_that_no_image_shows_raise_the_high_end_alone():
    rows = np.eye(3)[[0] * 30 + [1] * 9 + [2]]
    seen = growth_interval(rows, level=0.9, seed=0)
    whole = vendi_interval(rows, level=0.9, seed=0)
    assert (whole.low, whole.estimate) == (seen.low, seen.estimate)
    missed = stats.beta.ppf(0.95, 2.0, 39.0)
    entropy = stats.entropy([missed, 1.0 - missed])
    expected = math.exp((1 - missed) * math.log(seen.high) + missed * math.log(1000) + entropy)
    assert whole.high == pytest.approx(expected)
    assert with_unseen(seen, 40.0).high == 1000.0
