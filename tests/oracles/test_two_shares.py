"""Differences of two shares against scipy, and their worst error at few images."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from pytest_t2i.statistics import share_difference_interval
from pytest_t2i.statistics.gaps import _likeliest, share_difference_p_value

COUNTS = [((2, 10), (9, 10)), ((56, 70), (48, 80)), ((0, 20), (5, 15)), ((7, 7), (1, 30))]


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("bound", [-0.9, -0.3, 0.0, 0.2, 0.7])
def test_the_likeliest_shares_are_those_of_a_search(counts, bound):
    before, after = counts

    def surprise(share):
        return -sum(
            stats.binom.logpmf(*one, p)
            for one, p in ((before, share), (after, min(1.0, max(0.0, share + bound))))
        )

    ends = max(0.0, -bound) + 1e-12, min(1.0, 1.0 - bound) - 1e-12
    found = optimize.minimize_scalar(
        surprise, bounds=ends, method="bounded", options={"xatol": 1e-10}
    )
    q, p = _likeliest(after, before, bound)[::-1]
    assert p - q == pytest.approx(bound)
    assert surprise(q) <= found.fun + 1e-7
    (k, n), (j, m) = counts
    variance = (p * (1 - p) / m + q * (1 - q) / n) * (n + m) / (n + m - 1)
    if variance > 1e-9:
        z = (j / m - k / n - bound - (1 / n + 1 / m) / 2) / np.sqrt(variance)
        assert share_difference_p_value(before, after, bound) == pytest.approx(stats.norm.sf(z))


@pytest.mark.parametrize("counts", COUNTS)
def test_interval_and_p_value_agree(counts):
    interval = share_difference_interval(*counts, 0.9)
    for end, side in ((interval.low, "greater"), (interval.high, "less")):
        if abs(end) < 1:
            assert share_difference_p_value(*counts, end, alternative=side) == pytest.approx(0.05)
    turned = share_difference_interval(*counts[::-1], 0.9)
    assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low), abs=1e-6)


@pytest.mark.parametrize("sizes", [(5, 5), (10, 10), (10, 40)])
def test_true_bounds_are_rejected_in_at_most_five_percent(sizes):
    n, m = sizes
    for bound in np.linspace(-0.9, 0.9, 7):
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
            assert chances[0] @ rejected @ chances[1] <= 0.05


@pytest.mark.parametrize("counts", [((1, 0), (1, 2)), ((3, 2), (1, 2)), ((-1, 2), (1, 2))])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="before must be"):
        share_difference_p_value(*counts, 0.0)
