"""The change of a share on the same images, by enumeration of all that can be counted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics import clopper_pearson, paired_share_change

LEVEL = 0.95
IMAGES = 12
COUNTS = [(b, c) for b, c in product(range(IMAGES + 1), repeat=2) if b + c <= IMAGES]
RATES = (0.0, 0.01, 0.05, 0.1, 0.3, 0.6, 0.95)


@pytest.fixture(scope="module")
def ends():
    intervals = [paired_share_change(b, c, IMAGES, LEVEL) for b, c in COUNTS]
    return np.array([(interval.low, interval.high) for interval in intervals])


@pytest.mark.parametrize(
    ("lost", "gained"), [pair for pair in product(RATES, repeat=2) if sum(pair) <= 1.0]
)
def test_it_covers_whatever_the_rates(ends, lost, gained):
    counts = np.array([(b, c, IMAGES - b - c) for b, c in COUNTS])
    chances = stats.multinomial.pmf(counts, IMAGES, (lost, gained, 1.0 - lost - gained))
    truth = gained - lost
    covers = (ends[:, 0] <= truth + 1e-12) & (ends[:, 1] >= truth - 1e-12)
    assert chances[covers].sum() > 0.93


def test_it_is_no_wider_than_both_ends_together():
    change = paired_share_change(2, 5, IMAGES, LEVEL)
    lost, gained = (clopper_pearson(k, IMAGES, LEVEL) for k in (2, 5))
    assert gained.low - lost.high < change.low < change.estimate == 3 / IMAGES
    assert change.estimate < change.high < gained.high - lost.low


def test_exchanged_counts_turn_it_round():
    one, other = (paired_share_change(*pair, IMAGES, LEVEL) for pair in ((2, 5), (5, 2)))
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert paired_share_change(0, IMAGES, IMAGES, LEVEL).high == 1.0
