"""The gap of a share between two conditions of the same prompts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics.groups.stratified_gap import stratified_gap_interval
from pytest_t2i.statistics.shares.intervals import clopper_pearson


def test_one_prompt_is_square_and_add_of_exact_intervals():
    gap = stratified_gap_interval([(56, 70)], [(48, 80)], level=0.95)
    first, second = (stats.binomtest(*c).proportion_ci(0.95) for c in ((56, 70), (48, 80)))
    assert gap.estimate == pytest.approx(0.2)
    assert gap.low == pytest.approx(0.2 - np.hypot(0.8 - first.low, second.high - 0.6))
    assert gap.high == pytest.approx(0.2 + np.hypot(first.high - 0.8, 0.6 - second.low))


def test_each_prompt_counts_alike():
    gap = stratified_gap_interval([(10, 10), (0, 90)], [(0, 10), (0, 90)], level=0.95)
    assert gap.estimate == 0.5


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.5), (0.95, 0.6), (0.99, 0.02)])
@pytest.mark.parametrize("words", ["fixed", "sample"])
def test_it_covers(shares, words):
    rng = np.random.default_rng(7)
    p = np.clip(shares[0] + np.array([-0.1, 0, 0, 0.1]) * (words == "fixed"), 0, 1)
    covered = 0
    for _ in range(400):
        after = [(int(rng.binomial(12, one)), 12) for one in p]
        before = [(int(rng.binomial(12, shares[1])), 12) for _ in p]
        gap = stratified_gap_interval(after, before, level=0.95, words=words)
        covered += gap.low <= p.mean() - shares[1] <= gap.high
    assert covered >= 0.92 * 400


def test_no_spread_is_no_certainty():
    gap = stratified_gap_interval([(20, 20)], [(20, 20)], level=0.95)
    assert gap.low < 0 < gap.high
    assert gap.high == pytest.approx(1 - clopper_pearson(20, 20, 0.95).low)


@pytest.mark.parametrize(
    ("after", "before", "words", "expected"),
    [
        ([], [], "fixed", "the same prompts, at least one, got 0"),
        ([(1, 2)], [(1, 2), (1, 2)], "fixed", "got 1 and 2"),
        ([(0, 0)], [(1, 2)], "fixed", "a clear image of each"),
        ([(1, 2)], [(1, 2)], "sample", "two prompts where words are sampled, got one"),
    ],
)
def test_what_shows_nothing_is_refused(after, before, words, expected):
    with pytest.raises(ValueError, match=expected):
        stratified_gap_interval(after, before, level=0.95, words=words)
