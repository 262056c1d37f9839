"""The gap of a share between two conditions of the same prompts."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics.groups.stratified_gap import stratified_gap_interval
from pytest_t2i.statistics.shares.two_shares import share_difference_interval


def test_prompts_alike_are_one_set_of_images():
    one = share_difference_interval((24, 40), (48, 80), 0.95)
    gap = stratified_gap_interval([(24, 40), (24, 40)], [(12, 20), (12, 20)], level=0.95)
    assert (gap.estimate, gap.n) == (0.0, 2)
    assert (gap.low, gap.high) == pytest.approx((one.low, one.high), abs=0.01)


def test_few_images_that_show_both_count_by_their_own_variance():
    plain = [(10, 20)] * 4
    few = stratified_gap_interval([(1, 2), (1, 2), (30, 30), (30, 30)], plain, level=0.95)
    alike = stratified_gap_interval([(2, 2), (2, 2), (15, 30), (15, 30)], plain, level=0.95)
    assert few.high - few.low > alike.high - alike.low


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
    assert 0.1 < gap.high < 0.3


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
