"""Intervals of WALS, by hand and by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import metrics
from pytest_t2i.data import Interval
from pytest_t2i.statistics import variety
from pytest_t2i.statistics.variety import (
    mean_wals_interval,
    wals_at_level,
    wals_change_interval,
    wals_interval,
)

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
