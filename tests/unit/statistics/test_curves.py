"""Bands of curves, half of a lean, settling: coverage, known answers, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.data import Interval
from pytest_t2i.statistics.curves import mean_band, settled_step

TRUTH = np.linspace(0.3, 0.05, 8)
MIXING = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))


@pytest.mark.parametrize("n", [5, 30])
def test_nineteen_bands_in_twenty_hold_everywhere(n):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(150):
        curves = TRUTH + 0.2 * rng.normal(size=(n, 8)) @ MIXING.T
        band = mean_band(curves, level=0.95)
        held += all(l <= t <= h for l, t, h in zip(band.low, TRUTH, band.high, strict=True))  # noqa: E741
    assert held >= 0.9 * 150


def test_equal_curves_may_have_missed_one_that_goes_the_other_way():
    band = mean_band([[0.1, -0.2, 0.0]] * 9, level=0.95)
    assert band.mean == pytest.approx((0.1, -0.2, 0.0))
    # With a tenth curve at -m the mean is 0.8 m, its deviation 2 m / sqrt(10).
    reach = 0.1 * 2.0 / 10**0.5 / 10**0.5 * stats.t.ppf(1.0 - 0.025 / 3, 9)
    assert band.low == pytest.approx((0.08 - reach, -0.2, 0.0))
    assert band.high == pytest.approx((0.1, -0.16 + 2.0 * reach, 0.0))


def test_a_band_reaches_further_towards_nought_alone():
    curves = TRUTH + 0.05 * np.random.default_rng(4).normal(size=(30, 8)) @ MIXING.T
    band = mean_band(curves, level=0.95)
    turned = mean_band(-curves, level=0.95)
    assert np.negative(turned.high) == pytest.approx(band.low)
    assert np.negative(turned.low) == pytest.approx(band.high)
    below, above = np.subtract(band.mean, band.low), np.subtract(band.high, band.mean)
    assert np.all(below > above)
    assert below[0] > 2.0 * above[0]


def test_settling():
    final = Interval(0.5, 0.4, 0.6, 0.95, "clopper-pearson", 40)
    assert settled_step([0.5, 0.5], final) == 1
    assert settled_step([0.9, 0.5], final) == 2


def test_refusals():
    with pytest.raises(ValueError, match="at least 2 rows"):
        mean_band([[0.1, 0.2]], level=0.95)
    with pytest.raises(ValueError, match="at least 2 rows"):
        mean_band([0.1, 0.2], level=0.95)
    with pytest.raises(ValueError, match="shares must lie in"):
        settled_step([1.5], Interval(0.5, 0.4, 0.6, 0.95, "clopper-pearson", 40))
