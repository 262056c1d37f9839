"""Small cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics as s
from pytest_t2i.data import Interval
from pytest_t2i.statistics.correction import effective_counts, folding_bias
from pytest_t2i.statistics.curves import mean_band
from pytest_t2i.statistics.detectors import deviation_interval, fleiss_interval
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    total_variation_floor,
    total_variation_interval,
)
from pytest_t2i.statistics.gaps import parity_difference_interval
from pytest_t2i.statistics.inversion import inverted_p_value
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.statistics.ranks import groups_differ_p_value
from pytest_t2i.statistics.variety import (
    mean_wals_interval,
    wals_at_level,
    wals_change_interval,
    wals_interval,
)


def student(level, freedom):
    return float(stats.t.ppf((1.0 + level) / 2.0, freedom))


def seen(estimate, reach, n=10, level=0.9):
    return Interval(estimate, estimate - reach, estimate + reach, level, "half-sample", n)


def test_wals_at_another_level_has_the_same_spread():
    known = seen(0.5, 0.1)
    assert wals_at_level(known, 0.9) == pytest.approx(known)
    wider = wals_at_level(known, 0.99)
    reach = 0.1 * student(0.99, 9) / student(0.9, 9)
    assert (wider.low, wider.high) == pytest.approx((0.5 - reach, 0.5 + reach))


@pytest.mark.parametrize(("estimate", "ends"), [(0.05, (0.0, 0.15)), (0.95, (0.85, 1.0))])
def test_wals_ends_at_zero_and_one(estimate, ends):
    known = seen(estimate, 0.1)
    cut = Interval(estimate, *ends, 0.9, "half-sample", 10)
    for interval in (
        wals_at_level(known, 0.9),
        wals_at_level(cut, 0.9),
        mean_wals_interval([known], 0.9),
    ):
        assert (interval.low, interval.high) == pytest.approx(ends)


def test_the_mean_of_wals_adds_variances():
    mean = mean_wals_interval([seen(0.4, 0.03, n=10), seen(0.6, 0.04, n=20)], 0.9)
    spread = math.hypot(0.03 / student(0.9, 9), 0.04 / student(0.9, 19)) / 2
    reach = student(0.9, 9) * spread
    assert (mean.estimate, mean.n) == (0.5, 2)
    assert (mean.low, mean.high) == pytest.approx((0.5 - reach, 0.5 + reach))


def test_a_change_of_wals_adds_variances():
    fell = wals_change_interval([(seen(0.6, 0.03, n=10), seen(0.4, 0.04, n=20))], 0.9)
    reach = student(0.9, 9) * math.hypot(0.03 / student(0.9, 9), 0.04 / student(0.9, 19))
    assert (fell.low, fell.high) == pytest.approx((0.2 - reach, 0.2 + reach))
    assert fell.n == 10


def test_halves_of_an_odd_number_leave_more_out_than_they_keep():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    interval = wals_interval(rows, [1.0, 0.0, 0.0], level=0.9, seed=0, resamples=100)
    rng = np.random.default_rng(0)
    from pytest_t2i.metrics import wals

    scores = [wals(rows[rng.permutation(5)[:2]], [1.0, 0.0, 0.0]) for _ in range(100)]
    reach = student(0.9, 4) * np.std(scores, ddof=1) * math.sqrt(2 / 3)
    assert interval.high - interval.estimate == pytest.approx(reach)


def test_one_image_tells_nothing_of_the_spread_that_labels_leave():
    men, women = effective_counts([1, 10], [0, 10], [0.1, 0.1])
    # B = (1 + 0.1) / 19 of the second prompt alone: 20 B / (B + 0.1) = 7.3 images are left.
    assert (men + women).tolist() == [1, 7]
    assert effective_counts([1.0], [0.0], [0.5])[0].tolist() == [1]


def test_folding_without_noise_is_nothing():
    bias = folding_bias([0.0, 0.5, 0.1], [0.04, 0.0, 0.04])
    flat = 0.2 * math.sqrt(2.0 / math.pi)
    assert bias == pytest.approx([flat, 0.0, flat])


def test_an_end_on_the_bound_does_not_leave_it_out():
    same = Interval(0.3, 0.3, 0.3, 0.95, "test", 9)
    for alternative in ("greater", "less"):
        assert inverted_p_value(lambda _level: same, 0.3, alternative=alternative) == 1.0
    least = 0.5 / 2**16
    assert inverted_p_value(lambda _level: same, 0.29) == least
    assert inverted_p_value(lambda _level: same, 0.31, alternative="less") == least
    with pytest.raises(ValueError, match=r"level must lie between 0\.5 and 1"):
        s.one_sided(0.5)
    with pytest.raises(ValueError, match=r"level must lie between 0\.5 and 1"):
        s.one_sided(1.0)


def test_where_all_is_labelled_nothing_is_open_of_these_images():
    found = s.corrected_scores(
        [[1, 1, -1, 1] * 2, [1, -1, 1, -1] * 2], [[1, -1, -1, 1] * 2] * 2, 0.95
    )
    assert found.model.low == found.model.estimate == found.model.high == 0.0
    for interval in found.prompts:
        assert interval.estimate == 0.0
        assert (interval.low, interval.high) == pytest.approx((-0.686, 0.686), abs=1e-3)


def test_a_prompt_without_an_image_is_left_out_of_references():
    for counts in ([[0, 0], [1, 0]], [[1, 0], [0, 0]]):
        interval = mean_total_variation_interval(counts, [0.5, 0.5], level=0.9)
        alone = mean_total_variation_interval([[1, 0]], [0.5, 0.5], level=0.9)
        assert interval == alone
        assert (interval.n, interval.method) == (1, alone.method)


def test_a_group_without_an_image_may_show_anything():
    women = [[1] * 18 + [0] * 2]
    seen_alone = s.share_interval(18, 20, 0.9)
    gap = parity_difference_interval({"a": women, "b": women, "c": []}, level=0.9)
    assert gap.high == pytest.approx(max(seen_alone.high, 1.0 - seen_alone.low))
    men = [[0] * 18 + [1] * 2]
    gap = parity_difference_interval({"a": men, "b": men, "c": []}, level=0.9)
    assert gap.high == pytest.approx(max(seen_alone.high, 1.0 - seen_alone.low))


def test_agreement_of_three_raters_on_few_items():
    # All agree on 4 of 4: the exact low end w, and on the rest one of three dissents (1/3 agree).
    ratings = [[3, 0], [3, 0], [0, 3], [0, 3]]
    low = s.share_interval(4, 4, 0.95).low
    kappa = (low + (1.0 - low) / 3.0 - 0.5) / 0.5
    interval = fleiss_interval(ratings, level=0.95, seed=0, resamples=100)
    assert (interval.estimate, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(kappa)


def test_agreement_falls_at_least_to_that_of_mixed_items():
    # All agree on 3 of 4, of the other one pair of three agrees; by chance (7/12)^2 + (5/12)^2.
    ratings = [[3, 0], [3, 0], [0, 3], [1, 2]]
    low, by_chance = s.share_interval(3, 4, 0.95).low, (49 + 25) / 144
    kappa = (low + (1.0 - low) / 3.0 - by_chance) / (1.0 - by_chance)
    interval = fleiss_interval(ratings, level=0.95, seed=0, resamples=100)
    assert interval.low <= kappa + 1e-12


def test_wals_of_nearly_one_direction_ends_at_one_and_across_it_at_zero():
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.1, 0.0], [0.0, 1.0], [3.0, 0.1]])
    along = wals_interval(rows, [1.0, 0.0], level=0.999, seed=0, resamples=100)
    assert along.high == 1.0 > along.estimate
    across = wals_interval(rows, [0.0, 1.0], level=0.999, seed=0, resamples=100)
    assert across.low == 0.0 < across.estimate


def test_the_band_of_many_equal_curves_is_a_line_but_towards_nought():
    band = mean_band([[0.25, -0.5]] * 25, level=0.95)
    assert band.mean == (0.25, -0.5)
    assert (band.low[1], band.high[0]) == (-0.5, 0.25)
    # A 26th curve at -m: the mean is 24/26 m, its error 1/26 of 2 m, by Student's t of two steps.
    share = 24 / 26 - 2 / 26 * stats.t.ppf(1.0 - 0.025 / 2.0, 25)
    assert (band.low[0], band.high[1]) == pytest.approx((0.25 * share, -0.5 * share))


def test_a_prompt_that_a_side_found_nothing_in_counts_for_the_other_alone():
    said = [9, 0, 9, 9, 9], [1, 0, 1, 1, 1]
    found = deviation_interval(*said, [10, 5, 10, 10, 10], [0, 5, 0, 0, 0], level=0.9)
    assert found.estimate == pytest.approx(100.0 * (0.8 / 0.8 - 1.0))


def test_an_object_that_never_occurs_is_no_finding():
    absent = [[0], [0], [0]]
    for alternative in ("greater", "less"):
        p_value = object_bias_p_values(absent, absent, 0.7, seed=0, alternative=alternative)
        assert p_value.tolist() == [1.0]
    assert s.object_bias_intervals(absent, absent, level=0.9) == [None]


def test_a_label_shown_once_is_no_label_never_shown():
    counts, reference = {"a": 1, "b": 9, "c": 0}, {"a": 0.0, "b": 1.0, "c": 0.0}
    interval = total_variation_interval(counts, reference, 0.95)
    # Three labels share the error, and one of them alone exceeds its share.
    assert interval.low == pytest.approx(stats.beta.ppf(0.025 / 3, 1, 10), abs=1e-9)


def test_an_object_that_never_occurs_tells_nothing_of_independence():
    table = np.random.default_rng(0).poisson(2.0, (6, 2, 3))
    wider = np.concatenate([table, np.zeros((6, 2, 1))], axis=2)
    options = {"level": 0.9, "seed": 0, "permutations": 200}
    assert s.independence_p_value(wider, **options) == s.independence_p_value(table, **options)


def test_one_prompt_or_one_gender_shows_no_difference():
    assert groups_differ_p_value([[3, 2]], seed=0) == 1.0
    assert groups_differ_p_value([[3, 0], [1, 0]], seed=0) == 1.0


def test_a_change_ends_at_one():
    even, men, none = [1] * 3, [2] * 3, [0] * 3
    up = s.paired_model_bias_change(even, even, men, none, level=0.95, seed=0)
    down = s.paired_model_bias_change(men, none, even, even, level=0.95, seed=0)
    assert (up.high, down.low) == (1.0, -1.0)


def test_two_values_have_a_mean_with_an_interval():
    interval = s.mean_interval([[0.1], [0.2]], level=0.9)
    reach = student(0.9, 1) * 0.05
    assert (interval.low, interval.high) == pytest.approx((0.15 - reach, 0.15 + reach))
    with pytest.raises(ValueError, match="at least two values"):
        s.mean_interval([[0.1]], level=0.9)


def test_a_reference_beyond_one_is_refused_as_such():
    with pytest.raises(ValueError, match="reference must lie in"):
        total_variation_floor([[3, 4]], [0.0, 1.5])
