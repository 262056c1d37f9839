"""Differences of two shares against scipy, and their worst error at few images."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics import share_difference_interval
from pytest_t2i.statistics.gaps import share_difference_p_value

COUNTS = [((2, 10), (9, 10)), ((56, 70), (48, 80)), ((0, 20), (5, 15)), ((7, 7), (1, 30))]


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("bound", [-0.9, -0.3, 0.0, 0.2, 0.7])
def test_the_p_value_is_the_largest_chance_of_counts_as_extreme(counts, bound):
    (j, m), (k, n) = counts
    after, before = np.arange(n + 1)[:, None], np.arange(m + 1)[None, :]

    def statistic(a, b):
        p, q = (a + 1) / (n + 2), (b + 1) / (m + 2)
        return (a / n - b / m - bound) / np.sqrt(p * (1 - p) / n + q * (1 - q) / m)

    as_extreme = statistic(after, before) >= statistic(k, j) - 1e-9
    largest = max(
        stats.binom.pmf(after[:, 0], n, share + bound)
        @ as_extreme
        @ stats.binom.pmf(before[0], m, share)
        for share in np.linspace(max(0.0, -bound), min(1.0, 1.0 - bound), 1000)
    )
    found = share_difference_p_value(*counts, bound)
    assert found == pytest.approx(largest, abs=2e-3)


@pytest.mark.parametrize("counts", COUNTS)
def test_interval_and_p_value_agree(counts):
    interval = share_difference_interval(*counts, 0.9)
    for end, side in ((interval.low, "greater"), (interval.high, "less")):
        if abs(end) < 1:
            beyond = 1e-5 if side == "greater" else -1e-5
            assert share_difference_p_value(*counts, end - beyond, alternative=side) <= 0.05
            assert share_difference_p_value(*counts, end + beyond, alternative=side) > 0.05
    turned = share_difference_interval(*counts[::-1], 0.9)
    assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low), abs=1e-6)


@pytest.mark.parametrize("sizes", [(5, 5), (10, 10), (5, 20)])
def test_true_bounds_are_rejected_in_at_most_five_percent(sizes):
    n, m = sizes
    for bound in (-0.6, 0.0, 0.3):
        rejected = np.array(
            [
                [share_difference_p_value((j, m), (k, n), bound) <= 0.05 for j in range(m + 1)]
                for k in range(n + 1)
            ]
        )
        for share in np.linspace(max(0.0, -bound), min(1.0, 1.0 - bound), 21):
            chances = (
                stats.binom.pmf(np.arange(n + 1), n, share + bound),
                stats.binom.pmf(np.arange(m + 1), m, share),
            )
            assert chances[0] @ rejected @ chances[1] <= 0.051


@pytest.mark.parametrize("counts", [((1, 0), (1, 2)), ((3, 2), (1, 2)), ((-1, 2), (1, 2))])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="before must be"):
        share_difference_p_value(*counts, 0.0)
