"""Where one step more or less, or another sign, would change a result."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.data import Bounds
from pytest_t2i.statistics.active_correction import FITTED, _weighted_mean, calibrated
from pytest_t2i.statistics.change import plain_table, score_table, spread_table, table_bias
from pytest_t2i.statistics.correction import _distribution
from pytest_t2i.statistics.distances import mean_total_variation_interval, total_variation_bounds
from pytest_t2i.statistics.gaps import stratified_gap_interval
from pytest_t2i.statistics.permutation import POWER, _excess, group_change_test
from pytest_t2i.statistics.planning import smallest_found
from pytest_t2i.statistics.undetected import worst_case_counts


def test_two_prompts_are_enough_where_words_are_sampled():
    gap = stratified_gap_interval([(9, 10), (8, 10)], [(1, 10), (2, 10)], level=0.9, words="sample")
    assert gap.estimate == pytest.approx(0.7)
    assert gap.method == "student"
    with pytest.raises(ValueError, match="at least two prompts"):
        stratified_gap_interval([(9, 10)], [(1, 10)], level=0.9, words="sample")


def test_many_labels_that_are_all_as_expected_are_at_no_distance():
    labels = [f"label {k}" for k in range(16)]
    counts, even = dict.fromkeys(labels, 2), dict.fromkeys(labels, 1 / 16)
    assert total_variation_bounds(counts, 0, even) == Bounds(0.0, 0.0, 0.0)


@pytest.mark.parametrize(("alternative", "counts"), [("beyond", (6, 5)), ("within", (6, 5))])
def test_where_genders_are_even_an_undetected_image_is_a_mans(alternative, counts):
    assert worst_case_counts(5, 5, 1, alternative) == counts


def test_a_stricter_level_finds_larger_growths():
    sides = [[0, 0, 1, 1, 2, 2]] * 20, [[0, 1, 2, 0, 1, 2]] * 20
    found = [
        group_change_test(*sides, 3, level=level, seed=0, shared_seeds=False).found
        for level in (0.8, 0.95)
    ]
    z = stats.norm.ppf([0.8, 0.95]) + stats.norm.ppf(POWER)
    assert found[1] / found[0] == pytest.approx(z[1] / z[0])
    assert 0.0 < found[0] < found[1] < 0.2


def test_a_single_image_exceeds_chance_by_nothing():
    assert _excess(np.array([[0], [1], [-1]]), 2).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "table", [score_table(4, 10), plain_table(4), spread_table(6, 4, 10), table_bias(4, 10)]
)
def test_tables_that_are_kept_cannot_be_written(table):
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0.0


@pytest.mark.parametrize("low", [0.0, 0.6, 0.95])
def test_the_smallest_growth_lies_a_hundredth_above(low):
    assert smallest_found(lambda _: 1.0, 0.8, low) == round(low + 0.01, 2)
    assert smallest_found(lambda value: float(value >= 0.97), 0.8, low) == 0.97


def test_the_error_of_a_weighted_mean_pays_for_what_was_fitted():
    values, chances = np.array([1.0, 0.0, 0.5, 0.0, 1.0, 0.5]), np.full(6, 0.5)
    mean, error = _weighted_mean(values, chances)
    assert mean == pytest.approx(0.5)
    assert error == pytest.approx(
        np.sqrt(0.5 * np.sum(((values - 0.5) / 6) ** 2) * 6 / (5 - FITTED))
    )


def test_even_labels_of_even_odds_shift_nothing():
    odds, signs = np.array([-2.0, 2.0, -1.0, 1.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    assert calibrated(odds, signs, np.ones(4)).shift == pytest.approx(0.0, abs=1e-9)


def test_a_prompt_without_any_share_left_is_even():
    found = _distribution(np.array([[0.0, -0.1], [0.3, 0.1]]))
    assert found.tolist() == [[0.5, 0.5], pytest.approx([0.75, 0.25])]


def test_distances_of_many_labels_stay_below_one():
    counts = np.array([[20, 0, 0, 0], [0, 20, 0, 0], [0, 0, 19, 1]])
    found = mean_total_variation_interval(
        counts, np.full(4, 0.25), level=0.9, seed=0, words="sample"
    )
    assert found.high <= 1.0
