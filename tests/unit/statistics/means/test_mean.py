"""Means of groups of unequal size, and the rates that a plan of a comparison starts from."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics as s
from pytest_t2i.statistics import planning as change_plan
from pytest_t2i.statistics.means.mean import MeanError, mean_error
from pytest_t2i.statistics.planning import bias_as_seen, change_images_needed


def groups_of(units, seed=0):
    """Of 1 to 4 values each; small and lopsided."""
    rng = np.random.default_rng(seed)
    return [rng.exponential(0.1, 1 + k % 4) for k in range(units)]


@pytest.mark.parametrize("units", [2, 9, 10, 25])
def test_groups_of_unequal_size_make_a_ratio(units):
    groups = groups_of(units)
    sizes = np.array([len(group) for group in groups])
    mean = np.concatenate(groups).mean()
    strayed = np.array([group.sum() - mean * len(group) for group in groups]) / sizes.mean()
    found = mean_error(groups)
    assert found.estimate == pytest.approx(mean)
    assert found.error == pytest.approx(stats.sem(strayed))
    assert (found.freedom, found.units) == (units - 1, units)
    # Nine units do not tell how lopsided they are, ten do.
    lopsided = stats.skew(strayed, bias=False) if units >= 10 else 0.0
    assert found.skewness == pytest.approx(lopsided / np.sqrt(units))
    assert abs(found.skewness) > 0.02 or units < 10


@pytest.mark.parametrize("units", [10, 25])
def test_ends_are_where_the_transformed_mean_is_at_students_quantile(units):
    found = mean_error(groups_of(units))
    seen = found.interval(0.9)
    g, end = found.skewness, stats.t.ppf(0.95, units - 1)
    for bound, student in ((seen.low, end), (seen.high, -end)):
        x = (found.estimate - bound) / found.error
        assert x + g * x**2 / 3 + g**2 * x**3 / 27 + g / 6 == pytest.approx(student)


@pytest.mark.parametrize("skewness", [-0.4, 0.4])
def test_the_wider_interval_reaches_as_far_as_either(skewness):
    found = MeanError(0.3, 0.1, freedom=9.0, units=10, method="test", skewness=skewness)
    hall, student = found.interval(0.9), replace(found, skewness=0.0).interval(0.9)
    wider = found.wider(0.9)
    # Skewness moves both ends to its side, so that each interval has the farther one on a side.
    ends = (student.low, hall.high) if skewness > 0 else (hall.low, student.high)
    assert (wider.low, wider.high) == ends
    assert (wider.estimate, wider.method, wider.n) == (0.3, "test", 10)


def test_values_of_a_single_group_are_its_units():
    found = mean_error([[], [0.2, 0.5, 0.8]])
    assert (found.estimate, found.units) == (pytest.approx(0.5), 3)
    assert found.error == pytest.approx(0.3 / np.sqrt(3))


def test_a_bounded_mean_has_a_group_of_median_size_at_either_end():
    # Of one prompt's values all 1, a resample holds a 0 with chance 1/2 * 1/3 each draw.
    groups, level = [[1.0, 1.0], [1.0, 1.0]], 0.5
    seen = s.mean_interval(groups, level=level, seed=0, bounds=(0.0, 1.0), resamples=4000)
    # Two draws: both at 0 with 1/36 = 0.028, one with 10/36: the tail t_1 leaves is 0.079.
    assert (seen.low, seen.high) == (0.5, 1.0)
    wide = [[1.0] * 9, [1.0], [1.0, 1.0]]
    seen = s.mean_interval(wide, level=level, seed=0, bounds=(0.0, 1.0), resamples=4000)
    assert seen.estimate == 1.0
    # Shares of ones where one, two or all of three draws are the zeros of a group of two.
    assert any(
        seen.low == pytest.approx(ones / (ones + 2 * zeros))
        for zeros in (1, 2, 3)
        for ones in {sum(sizes) for sizes in product((9, 1, 2), repeat=3 - zeros)}
    )


def pairs_of(counts, images, **options):
    """All pairs of runs that a plan looks at."""
    pairs = []

    def inconclusive(pair):
        pairs.append(pair)
        return 0.0

    assert change_images_needed(*counts, inconclusive, sizes=(images,), **options) is None
    return pairs


def test_twenty_pairs_are_simulated_from_the_first_seed():
    counts = ([9, 3], [1, 3], [8, 5], [2, 1])
    pairs = pairs_of(counts, 7)
    assert len(pairs) == change_plan.PAIRS
    for men, women, now, others in pairs:
        assert (men + women).tolist() == (now + others).tolist() == [7, 7]
    np.testing.assert_equal(pairs, pairs_of(counts, 7, seed=0))
    assert not np.array_equal(pairs, pairs_of(counts, 7, seed=1))
    assert not np.array_equal(pairs, pairs_of(counts, 7, seed=0, changed=True))
    np.testing.assert_equal(pairs, pairs_of(counts, 7, seed=0, changed=False))


@pytest.mark.parametrize(("share", "enough"), [(0.79, False), (0.8, True)])
def test_four_pairs_in_five_are_wanted(share, enough):
    one = ([1], [1], [1], [1])
    assert (change_images_needed(*one, lambda _: share) is not None) is enough


@pytest.mark.parametrize("lost", [0, 1])
def test_a_prompt_of_one_image_plays_a_part_and_one_without_does_not(lost):
    seen = [[2, 1, 1, 0, 0], [2, 0, 0, 1, 1]], [[2, 1, 0, 1, 0], [2, 0, 1, 0, 1]]
    counts = [*seen[0], *seen[1]]
    assert len(pairs_of(counts, 5)[0][0]) == 5
    counts[2 * lost], counts[2 * lost + 1] = [2, 0, 0, 0, 0], [2, 0, 0, 0, 0]
    assert len(pairs_of(counts, 5)[0][0]) == 1


def test_rates_are_the_least_biased_that_four_in_five_allow():
    men, women = np.array([18, 12, 3, 10]), np.array([2, 8, 17, 10])
    rates = change_plan._least(men, women)
    least = s.model_bias_interval(men, women, level=0.6, seed=0).low
    assert 0.0 < least < np.mean(np.abs(men - women) / 20)
    assert np.mean(rates) == pytest.approx(least)
    # What was seen more biased stays so, and which gender it was plays no part.
    assert np.argsort(rates).tolist() == [3, 1, 2, 0]
    assert rates == pytest.approx(change_plan._least(women, men))


@pytest.mark.parametrize(
    ("men", "women"), [([4] * 20, [0] * 20), ([18, 10, 12], [2, 10, 8]), ([5, 4, 1], [4, 5, 0])]
)
def test_rates_as_seen_have_the_corrected_score_as_their_mean(men, women):
    rates = bias_as_seen(men, women)
    corrected = s.corrected_model_bias_score(men, women)
    plug_in = np.abs(np.subtract(men, women)) / np.add(men, women)
    assert rates.mean() == pytest.approx(min(corrected, plug_in.mean()))
    assert rates * plug_in.mean() == pytest.approx(plug_in * rates.mean())


def test_even_prompts_are_even_as_seen():
    assert bias_as_seen([5, 2], [5, 2]).tolist() == [0.0, 0.0]
