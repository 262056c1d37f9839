"""Means of groups of unequal size, and the rates that a plan of a comparison starts from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i import statistics as s
from pytest_t2i.statistics import planning as change_plan
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.gaps import (
    parity_difference_interval,
    parity_difference_p_value,
    parity_shares,
)
from pytest_t2i.statistics.means import (
    MeanError,
    _mean_of_means,
    bounded_mean_e_value,
    gap_interval,
    gap_p_value,
    mean_error,
)
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


def test_a_bounded_mean_has_half_a_group_of_median_size_at_either_end():
    seen = s.mean_interval([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], level=0.9, bounds=(0.0, 1.0))
    # The spread of one group of three that lies at 0 with half of its weight.
    reach = stats.t.ppf(0.95, 2) * np.sqrt(0.5) / 3
    assert (seen.low, seen.high) == (pytest.approx(1.0 - reach), 1.0)
    sizes = s.mean_interval([[1.0] * 9, [1.0], [1.0, 1.0]], level=0.9, bounds=(0.0, 1.0))
    assert (sizes.low, sizes.estimate) == (pytest.approx(1.0 - reach * 2.0 / 4.0), 1.0)
    assert (seen.n, sizes.n) == (3, 3)


def pairs_of(counts, images, **options):
    """All pairs of runs that a plan looks at."""
    pairs = []

    def inconclusive(*pair):
        pairs.append(pair)
        return 0.0

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(change_plan, "PER_CHANGE", (images,))
        assert change_images_needed(tuple(map(np.array, counts)), inconclusive, **options) is None
    return pairs


def test_twenty_pairs_are_simulated_from_the_first_seed():
    counts = ([9, 3], [1, 3], [8, 5], [2, 1])
    pairs = pairs_of(counts, 7)
    assert len(pairs) == change_plan.PAIRS
    for men, women, now, others in pairs:
        assert (men + women).tolist() == (now + others).tolist() == [7, 7]
    np.testing.assert_equal(pairs, pairs_of(counts, 7))
    assert not np.array_equal(pairs, pairs_of(counts, 7, changed=True))
    np.testing.assert_equal(pairs, pairs_of(counts, 7, changed=False))


@pytest.mark.parametrize(("share", "enough"), [(0.79, False), (0.8, True)])
def test_four_pairs_in_five_are_wanted(share, enough):
    one = (np.ones(1, int),) * 4
    assert (change_images_needed(one, lambda *_: share) is not None) is enough


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


def test_two_groups_are_welch() -> None:
    # Each with its mirror image: no skewness.
    a, b = 0.2 + np.array([-0.1, -0.07, 0.0, 0.07, 0.1]), 0.3 + np.array([-0.6, -0.1, 0.1, 0.6])
    result = gap_interval([a, b], level=0.9)
    # The mean of two means is half of the difference of one and the other's negative.
    theirs = stats.ttest_ind(a, -b, equal_var=False).confidence_interval(0.9)
    assert (result.low, result.high) == pytest.approx((theirs.low / 2, theirs.high / 2))
    assert result.estimate == pytest.approx((a.mean() + b.mean()) / 2)
    assert (result.n, result.method) == (2, "welch-t")


def test_one_group_is_student() -> None:
    values = np.array([0.1, 0.4, 0.2, 0.3])  # no skewness
    result = gap_interval([values, []], level=0.95)
    assert (result.low, result.high) == pytest.approx(
        stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    )


def test_a_group_of_one_value_has_the_variance_of_the_others() -> None:
    others = gap_interval([[0.1, 0.3], [0.5, 0.9], [0.2]], level=0.95)
    pooled = (0.02 + 0.08) / 2
    own = np.array([0.02 / 2, 0.08 / 2])
    error = own.sum() + pooled
    freedom = error**2 / (np.sum(own**2) + pooled**2 / 2)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(error) / 3
    assert others.high - others.estimate == pytest.approx(half)
    assert others.estimate == pytest.approx((0.2 + 0.7 + 0.2) / 3)


def hall(x: float, skewness: float) -> float:
    return x + skewness * x**2 / 3 + skewness**2 * x**3 / 27 + skewness / 6


def test_the_end_on_the_side_of_the_skewness_is_halls() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.exponential(0.1, size) for size in (5, 3, 8)]
    result = gap_interval(groups, level=0.9)
    own = np.array([group.var(ddof=1) / group.size for group in groups])
    cubes = np.array([stats.kstat(group, 3) / group.size**2 for group in groups])
    skewness = 1.5 * cubes.sum() / own.sum() ** 1.5
    freedom = own.sum() ** 2 / np.sum(own**2 / np.array([4, 2, 7]))
    end, error = stats.t.ppf(0.95, freedom), np.sqrt(own.sum()) / 3
    assert result.low == pytest.approx(result.estimate - end * error)
    assert result.high > result.estimate + end * error
    assert hall((result.estimate - result.high) / error, skewness) == pytest.approx(-end)
    turned: Any = [-group for group in groups]
    mirrored = gap_interval(turned, level=0.9)
    assert (mirrored.low, mirrored.high) == pytest.approx((-result.high, -result.low))


def test_groups_of_two_values_or_one_have_the_skewness_of_the_others() -> None:
    groups = [[0.0, 0.1, 0.9], [0.2, 0.3, 0.3, 0.8], [0.5, 0.7], [0.4]]
    found = _mean_of_means(groups)
    pooled = (3 * stats.kstat(groups[0], 3) + 4 * stats.kstat(groups[1], 3)) / 7
    cubes = stats.kstat(groups[0], 3) / 9 + stats.kstat(groups[1], 3) / 16 + pooled * (1 / 4 + 1)
    assert found.skewness == pytest.approx(1.5 * cubes / (4 * found.error) ** 3)
    assert _mean_of_means([[0.5, 0.7], [0.1, 0.4]]).skewness == 0.0


def test_values_that_all_agree_leave_a_point() -> None:
    result = gap_interval([[0.2, 0.2], [0.4, 0.4]], level=0.95)
    assert (result.low, result.high) == pytest.approx((0.3, 0.3))


@pytest.mark.parametrize("gaps", [[[0.1], [0.3], [0.2]], [[0.1, 0.3, 0.2]]])
def test_where_seeds_do_not_show_what_varies_the_old_interval_is_left(gaps: Any) -> None:
    result = gap_interval(gaps, level=0.95)
    assert result == statistics.mean_interval(gaps, level=0.95)


def test_p_values_of_a_gap_are_those_of_t() -> None:
    gaps = [[0.1, 0.2, 0.15], [0.3, 0.25, 0.35]]
    result = gap_interval(gaps, level=0.95)
    freedom = 4.0
    error = (result.high - result.estimate) / stats.t.ppf(0.975, freedom)
    for sign in (1, -1):
        turned: Any = [[sign * gap for gap in group] for group in gaps]
        p = gap_p_value(turned, 0.0, reach=np.inf)
        assert p == pytest.approx(2 * stats.t.sf(result.estimate / error, freedom), abs=5e-5)
        p = gap_p_value(turned, 0.2, reach=np.inf)
        tails = [stats.t.sf((result.estimate + side * 0.2) / error, freedom) for side in (1, -1)]
        assert p == pytest.approx(sum(tails), abs=5e-5)
        p = gap_p_value(turned, 0.26, alternative="less", reach=np.inf)
        assert p == pytest.approx(stats.t.sf((0.26 - result.estimate) / error, freedom), abs=5e-5)


BETS = ((0.97, 0.9), (0.25, 0.1))


def bets(values, bound, reach=2.0):
    """The e-value of values of one size of group, by hand."""
    largest = 1.0 / (reach + bound)
    return sum(w * np.prod(1.0 + b * largest * (np.ravel(values) - bound)) for b, w in BETS)


def test_a_gap_takes_bets_on_values_of_any_distribution() -> None:
    few: Any = [[0.1, 0.11, 0.1, 0.09]]
    assert gap_p_value(few, 0.0, reach=np.inf) < 0.01
    assert gap_p_value(few, 0.0) == pytest.approx(
        2.0 / (bets(few, 0.0) + bets(-np.array(few), 0.0))
    )
    many: Any = [np.full(39, 0.5) + 0.01 * np.arange(39) for _ in range(2)]
    beyond = 2.0 / (bets(many, 0.1) + bets(-np.array(many), 0.1))
    assert gap_p_value(many, 0.1) == max(beyond, 2.0**-16)
    even: Any = [0.01 * np.sin(np.arange(39.0)) for _ in range(2)]
    within = 1.0 / min(bets(even, -0.2), bets(-np.array(even), -0.2))
    assert gap_p_value(even, 0.2, alternative="less") == pytest.approx(within)
    assert within < 0.05
    eighty: Any = [0.1 + 0.01 * np.sin(np.arange(40.0)) for _ in range(2)]
    assert gap_p_value(eighty, 0.09) < 0.05 < gap_p_value(many[:1], 0.6)


def test_groups_of_few_values_bet_no_less_than_others() -> None:
    e_value = bounded_mean_e_value([np.full(4, 1.0), np.full(2, -1.0)], 0.0, 1.0)
    steps = np.r_[np.full(4, 0.5), np.full(2, -1.0)]
    assert e_value == pytest.approx(sum(w * np.prod(1.0 + b * steps) for b, w in BETS))


def counts_of(shares: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    men = rng.binomial(n, shares)
    return np.stack([men, n - men], 1)


def test_an_even_reference_is_half_of_the_bias_score() -> None:
    men = np.array([3, 17, 10, 20])
    result = mean_total_variation_interval(np.stack([men, 20 - men], 1), [0.5, 0.5], level=0.9)
    whole = statistics.model_bias_interval(men, 20 - men, level=0.9, seed=0)
    ends = (result.low, result.estimate, result.high)
    assert ends == pytest.approx((whole.low / 2, whole.estimate / 2, whole.high / 2))


@pytest.mark.parametrize("prompts", [2, 30])
@pytest.mark.parametrize("n", [8, 70])
def test_distances_of_fixed_prompts_are_covered(prompts: int, n: int) -> None:
    rng, missed, wide = np.random.default_rng(4), 0, 0.0
    real = np.resize([0.1, 0.4, 0.8], prompts)
    shares = np.resize([0.5, 0.45, 0.1], prompts)
    truth = float(np.mean(np.abs(real - shares)))
    reference = np.stack([real, 1 - real], 1)
    for _ in range(60):
        counts = counts_of(shares, n, rng)
        result = mean_total_variation_interval(counts, reference, level=0.9)
        missed += truth not in result
        wide += (result.high - result.low) / 60
    # At 90 %, 13 or more misses in 60 have a chance of 1 in 200.
    assert missed <= 12
    assert wide < 1.7 * np.sqrt(4 / (n * prompts)) + 0.05


def test_three_labels() -> None:
    counts = np.tile([[14, 4, 2]], (12, 1))
    real = [0.2, 0.4, 0.4]
    result = mean_total_variation_interval(counts, real, level=0.9)
    assert result.low < 0.5 < result.high
    assert result.low > 0.35


def test_the_parity_difference_has_a_p_value() -> None:
    groups = {"a": [[1] * 19 + [0] * 1], "b": [[1] * 8 + [0] * 12] * 2, "c": [[1] * 10 + [0] * 10]}
    result = parity_difference_interval(groups, level=0.9)
    for alternative, end, away in (("greater", result.low, 0.01), ("less", result.high, -0.01)):
        how: Any = {"alternative": alternative}
        beyond = parity_difference_p_value(groups, max(0.0, end - away), **how)
        within = parity_difference_p_value(groups, end + away, **how)
        assert beyond <= 0.0501
        assert within >= 0.0499
    shares = parity_shares(groups, level=0.9)
    theirs = statistics.share_interval(16, 40, 1 - 0.1 / 3)
    assert (shares["b"].low, shares["b"].high) == (theirs.low, theirs.high)
