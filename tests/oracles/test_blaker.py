"""Blaker's interval against the limits that the R package BlakerCI prints in its manual."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.statistics.shares import blaker

# binom.blaker.limits(x, n), level 0.95; 29 of 99 and 59 of 355 are those that Blaker's own
# algorithm gets wrong by skipping a gap (Klaschka 2010).
PRINTED = {
    (3, 10): (0.08726443, 0.61941066),
    (6, 13): (0.2158050, 0.7395922),
    (29, 99): (0.2097022, 0.3929079),
    (59, 355): (0.1300807, 0.2090809),
}


@pytest.mark.parametrize("counts", PRINTED)
def test_limits_are_those_of_the_r_package(counts: tuple[int, int]) -> None:
    result = blaker(*counts, 0.95)
    assert (result.low, result.high) == pytest.approx(PRINTED[counts], abs=6e-8)


@pytest.mark.parametrize("n", [1, 2, 5, 10, 20, 50])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_it_covers_with_the_level_and_lies_within_clopper_pearson(n: int, level: float) -> None:
    ours = [blaker(k, n, level) for k in range(n + 1)]
    theirs = [statistics.clopper_pearson(k, n, level) for k in range(n + 1)]
    assert all(
        a.low >= b.low - 1e-9 and a.high <= b.high + 1e-9
        for a, b in zip(ours, theirs, strict=False)
    )
    ends = [end for our in ours for end in (our.low, our.high, our.low - 1e-9, our.high + 1e-9)]
    p = np.concatenate([np.linspace(0.001, 0.999, 999), ends])
    p = p[(p > 0) & (p < 1)]
    covered = sum(
        stats.binom.pmf(k, n, p) * ((our.low <= p) & (p <= our.high)) for k, our in enumerate(ours)
    )
    assert covered.min() >= level - 1e-9


def test_it_is_six_per_cent_narrower_at_20_images() -> None:
    widths = [
        sum(entry.high - entry.low for entry in (method(k, 20, 0.95) for k in range(21)))
        for method in (blaker, statistics.clopper_pearson)
    ]
    assert 0.93 < widths[0] / widths[1] < 0.95


def test_ends_are_exact() -> None:
    assert blaker(0, 7, 0.95).low == 0.0
    assert blaker(7, 7, 0.95).high == 1.0
    assert blaker(2, 7, 0.95).method == "blaker"
    assert blaker(2, 7, 0.95).estimate == 2 / 7
