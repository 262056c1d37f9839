"""Agreement between raters: against scikit-learn and a published table, and the intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from pytest_t2i.metrics import cohen_kappa, fleiss_kappa
from pytest_t2i.statistics import share_interval
from pytest_t2i.statistics.detectors import fleiss_interval, kappa_interval, paired_share_change

FLEISS_1971 = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
"""The example of the article on Fleiss' kappa: 14 raters, 10 items, kappa 0.210."""


def test_fleiss_reproduces_the_published_example():
    assert fleiss_kappa(FLEISS_1971) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_of_two_raters_with_equal_margins_is_cohen():
    a, b = list("mmffmfmfmm"), list("mfmfmmfmfm")
    ratings = [
        [(x == "m") + (y == "m"), (x == "f") + (y == "f")] for x, y in zip(a, b, strict=True)
    ]
    assert sorted(a) != a
    assert fleiss_kappa(ratings) == pytest.approx(cohen_kappa(a, b), abs=0.02)


@pytest.mark.parametrize(
    ("ratings", "says"),
    [
        ([[1, 2], [2, 2]], "same two or more raters"),
        ([[1, 0], [0, 1]], "same two or more raters"),
        ([[3, 0], [3, 0]], "one label only"),
        ([3, 0], "ratings must be"),
        ([[1.5, 1.5]], "whole numbers"),
    ],
)
def test_fleiss_refuses(ratings, says):
    with pytest.raises(ValueError, match=says):
        fleiss_kappa(ratings)


def test_kappa_interval_holds_the_estimate_of_scikit_learn():
    rng = np.random.default_rng(3)
    a = rng.choice(["male", "female", "low_quality"], 80)
    b = np.where(rng.random(80) < 0.8, a, rng.choice(["male", "female", "low_quality"], 80))
    result = kappa_interval(a, b, 0.95)
    assert result.estimate == pytest.approx(cohen_kappa_score(a, b))
    assert result.low < result.estimate < result.high
    assert result.n == 80


def test_full_agreement_on_few_images_is_not_certainty():
    few, many = (kappa_interval(["m", "f"] * k, ["m", "f"] * k, 0.95) for k in (5, 100))
    assert few.high == many.high == 1.0
    assert few.low < 0.5
    assert many.low > 0.9
    three = fleiss_interval([[3, 0], [0, 3]] * 5, level=0.95, seed=0)
    assert three.estimate == three.high == 1.0
    assert three.low < 0.9


@pytest.mark.parametrize("error", [0.05, 0.2])
def test_kappa_interval_covers(error):
    rng = np.random.default_rng(7)
    margins = np.array([0.5, 0.3, 0.2])
    confusion = np.eye(3) * (1 - error) + error / 3
    joint = np.einsum("t,ta,tb->ab", margins, confusion, confusion)
    joint /= joint.sum()
    chance = float((joint.sum(0) * joint.sum(1)).sum())
    true = (np.trace(joint) - chance) / (1 - chance)
    hits = 0
    for _ in range(400):
        cell = rng.choice(9, 60, p=joint.ravel())
        covers = kappa_interval((cell // 3).tolist(), (cell % 3).tolist(), 0.95)
        hits += covers.low <= true <= covers.high
    assert 0.93 <= hits / 400 <= 0.98


@pytest.mark.parametrize("error", [0.02, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("share", [0.6, 0.9])
def test_each_end_of_a_kappa_interval_misses_as_seldom_as_stated(share, error):
    """Of 12 images and two raters who err alike, over all tables; by Wilson 0.046 at the worst."""
    tables = [(a, b, c, 12 - a - b - c) for a, b, c in product(range(13), repeat=3)
              if a + b + c <= 12]  # fmt: skip
    both, one = share * (1 - error) ** 2 + (1 - share) * error**2, error * (1 - error)
    neither = 1 - both - 2 * one
    by_chance = (both + one) ** 2 + (neither + one) ** 2
    true = (both + neither - by_chance) / (1 - by_chance)
    chances = stats.multinomial.pmf(tables, 12, [both, one, one, neither])
    too_high = too_low = 0.0
    for (a, b, c, d), chance in zip(tables, chances, strict=True):
        if {(a, b, c), (b, c, d)} & {(0, 0, 0)}:
            continue  # one label only
        found = kappa_interval(
            [1] * (a + b) + [0] * (c + d), [1] * a + [0] * b + [1] * c + [0] * d, 0.95
        )
        too_high += chance * (found.low > true + 1e-9)
        too_low += chance * (found.high < true - 1e-9)
    assert max(too_high, too_low) <= 0.025


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
    lost, gained = (share_interval(k, IMAGES, LEVEL) for k in (2, 5))
    assert gained.low - lost.high < change.low < change.estimate == 3 / IMAGES
    assert change.estimate < change.high < gained.high - lost.low


def test_exchanged_counts_turn_it_round():
    one, other = (paired_share_change(*pair, IMAGES, LEVEL) for pair in ((2, 5), (5, 2)))
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert paired_share_change(0, IMAGES, IMAGES, LEVEL).high == 1.0
