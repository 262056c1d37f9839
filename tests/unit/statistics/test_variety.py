"""The interval of the Vendi score: what few images may have missed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import metrics
from pytest_t2i.data import Interval
from pytest_t2i.metrics import vendi_score
from pytest_t2i.statistics import variety
from pytest_t2i.statistics.variety import (
    Halves,
    growth_interval,
    mean_wals_interval,
    unlike_images,
    vendi_at_level,
    vendi_interval,
    wals_at_level,
    wals_change_interval,
    wals_interval,
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
    halves = Halves.of(vendi_score, rows, 4, 50)
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


DIRECTION = np.eye(12)[1]


def images(rng, n, d=12):
    """People who differ in the attribute, and in what each has of their own."""
    rows = rng.normal(size=(n, d)) * np.exp(-np.arange(d) / 5) + 2.0 * np.eye(d)[0]
    rows[:, 1] += rng.choice([-1.0, 1.0], n)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_short_way_gives_what_singular_vectors_give():
    rng = np.random.default_rng(0)
    for n, center, rank in ((6, False, None), (30, True, None), (30, False, 3), (6, True, 2)):
        rows = images(rng, n)
        short = variety._wals(rows, DIRECTION, rank, center=center)
        assert short == pytest.approx(metrics.wals(rows, DIRECTION, rank, center=center), abs=1e-6)


@pytest.mark.slow
def test_nineteen_in_twenty_hold_the_truth():
    rng = np.random.default_rng(1)
    truth = np.mean([variety._wals(images(rng, 24), DIRECTION, None, center=False)
                     for _ in range(2000)])  # fmt: skip
    held = 0
    for seed in range(120):
        interval = wals_interval(images(rng, 24), DIRECTION, level=0.95, seed=seed, resamples=100)
        held += truth in interval
    assert held >= 0.9 * 120


def test_another_level_and_a_change():
    rows = images(np.random.default_rng(2), 30)
    wide = wals_interval(rows, DIRECTION, level=0.95, seed=3)
    narrow = wals_interval(rows, DIRECTION, level=0.5, seed=3)
    assert wals_at_level(wide, 0.5).low == pytest.approx(narrow.low)
    assert wals_at_level(narrow, 0.95).high == pytest.approx(wide.high)
    assert wals_interval(rows, DIRECTION, level=0.95, seed=3) == wide
    same = wals_change_interval([(wide, wide)], 0.95)
    assert same.estimate == 0.0
    assert same.high == pytest.approx(2**0.5 * (wide.high - wide.estimate))
    both = wals_change_interval([(wide, wide)] * 4, 0.95)
    assert both.high == pytest.approx(same.high / 2)
    four = mean_wals_interval([wide] * 4, 0.95)
    assert four.high - four.estimate == pytest.approx((wide.high - wide.estimate) / 2)


def test_refusals():
    with pytest.raises(ValueError, match="at least 4 images"):
        wals_interval(np.eye(3), np.eye(3)[0], level=0.95, seed=0)
    with pytest.raises(ValueError, match="direction must not be all zero"):
        wals_interval(np.eye(5), np.zeros(5), level=0.95, seed=0)
    known = Interval(0.2, 0.1, 0.3, 0.95, "half-sample", 9)
    with pytest.raises(ValueError, match="level"):
        wals_change_interval([(known, known)], 1.0)
    with pytest.raises(ValueError, match="two intervals per prompt"):
        wals_change_interval([], 0.95)
    with pytest.raises(ValueError, match="an interval per prompt"):
        mean_wals_interval([], 0.95)
