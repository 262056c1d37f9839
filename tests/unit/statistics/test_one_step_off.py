"""Where one step more or less, or another sign, would change a result."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics as s
from pytest_t2i.data import Bounds
from pytest_t2i.statistics.change import (
    _by_tables,
    moved_p_value,
    score_table,
    spread_table,
    table_bias,
)
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    total_variation_bounds,
)
from pytest_t2i.statistics.gaps import share_difference_p_value
from pytest_t2i.statistics.group_sequential import SequentialTest, _first_beyond, _first_within
from pytest_t2i.statistics.model import Sizes, least_favourable
from pytest_t2i.statistics.permutation import _excess, group_change_p_value
from pytest_t2i.statistics.ranks import group_ranking, groups_differ_p_value
from pytest_t2i.statistics.undetected import worst_case_groups


def test_many_labels_that_are_all_as_expected_are_at_no_distance():
    labels = [f"label {k}" for k in range(16)]
    counts, even = dict.fromkeys(labels, 2), dict.fromkeys(labels, 1 / 16)
    assert total_variation_bounds(counts, 0, even) == Bounds(0.0, 0.0, 0.0)


def test_a_single_image_exceeds_chance_by_nothing():
    assert _excess(np.array([[0], [1], [-1]]), 2).tolist() == [0.0, 0.0, 0.0]


def test_tables_that_are_kept_cannot_be_written():
    # Made here, of sizes that no other test has: a table is kept where it was made once.
    made = [score_table(7, 13), spread_table(11, 7, 13), table_bias(7, 13)]
    for table in made:
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0.0


def test_distances_of_many_labels_stay_below_one():
    counts = np.array([[20, 0, 0, 0], [0, 20, 0, 0], [0, 0, 19, 1]])
    found = mean_total_variation_interval(counts, np.full(4, 0.25), level=0.9)
    assert found.high <= 1.0


def test_a_group_of_one_image_has_the_share_of_that_image():
    groups, unknown = {"a": [[1.0]], "b": [[0.0, 0.0, 0.0, 0.0]]}, {"a": [0], "b": [2]}
    found = worst_case_groups(groups, unknown, "beyond")
    assert found == {"a": [[1.0]], "b": [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0]]}
    many = worst_case_groups({"a": [[1.0]], "b": [[0.0] * 4]}, {"a": [0], "b": [8]}, "beyond")
    assert many == {"a": [[1.0]], "b": [[0.0] * 4 + [1.0] * 8]}


@pytest.mark.parametrize("counts", [(0, 0), (3, 2), (-1, 2)])
def test_shares_of_no_image_are_refused(counts):
    with pytest.raises(ValueError, match="at least one judged image"):
        share_difference_p_value((1, 2), counts, 0.0)


@pytest.mark.parametrize("label", [-2, 3, 0.5])
def test_labels_of_no_group_are_refused(label):
    many = [label, *range(3), 0, 1, 2]
    with pytest.raises(ValueError, match=r"must hold -1 to 2, got \[.*\]\.\.\.") as refused:
        group_change_p_value([many], [many], 3, seed=0, shared_seeds=False)
    assert str(refused.value).count(",") == 5


def test_a_lone_prompt_of_one_image_exceeds_even_groups_by_what_it_shows():
    assert _excess(np.array([[0, 0], [0, 1], [0, -1]]), 4) == pytest.approx(
        [0.75 - 0.5625, 0.5 - 0.5625, 0.0]
    )


@pytest.mark.parametrize(("n", "lean", "folded"), [(30, 12, True), (30, 12, False), (30, 25, True)])
def test_a_share_heads_for_where_it_leads(n, lean, folded):
    test = SequentialTest(80, 0.3, folded=folded)
    low, high = test._heading(n, 50, lean)
    share = lean / n
    variance = (1.0 - share**2) if folded else share * (1.0 - share)
    assert (low + high) / 2.0 == pytest.approx(lean + 50 * share)
    assert high - low == pytest.approx(2.0 * 1.3 * np.sqrt(50 * variance * (1.0 + 50 / n)))


@pytest.mark.parametrize("bound", np.linspace(0.15, 0.9, 16))
def test_the_first_look_within_counts_both_even_outcomes(bound):
    test = SequentialTest(200, bound)
    edge = (1.0 + bound) / 2.0
    for n in range(1, _first_within(test) + 1):
        even = sum(stats.binom.pmf(k, n, edge) for k in {n // 2, n - n // 2})
        passes = even <= test.spent_within(n) + 1e-9
        assert passes == (n == _first_within(test))


def test_a_prompt_without_an_image_now_is_left_out_of_the_test():
    counts = [12, 9, 15, 10], [8, 11, 5, 10], [16, 12, 18, 14], [4, 8, 2, 6]
    without = s.change_p_value(*counts, seed=3)
    beside = s.change_p_value(*([*side, extra] for side, extra in zip(
        counts, (9, 1, 0, 0), strict=True)), seed=3)  # fmt: skip
    before = s.change_p_value(*([*side, extra] for side, extra in zip(
        counts, (0, 0, 9, 1), strict=True)), seed=3)  # fmt: skip
    assert without == beside == before


def test_a_change_to_even_reaches_no_further_than_one():
    found = s.paired_model_bias_change([1] * 3, [1] * 3, [2] * 3, [0] * 3, level=0.999, seed=0)
    turned = s.paired_model_bias_change([2] * 3, [0] * 3, [1] * 3, [1] * 3, level=0.999, seed=0)
    assert (found.high, turned.low) == (1.0, -1.0)


@pytest.mark.parametrize("mean", [0.1, 0.6, 0.95])
@pytest.mark.parametrize("sizes", [Sizes((2, 5, 60), (7, 2, 11)), Sizes((2, 60), (9, 1))])
def test_every_world_that_a_score_is_tried_against_has_its_mean(mean, sizes):
    for bias in least_favourable(sizes, mean):
        assert np.average(bias, weights=sizes.prompts) == pytest.approx(mean)
        assert 0.0 <= min(bias) <= max(bias) <= 1.0


def test_a_model_of_one_image_differs_from_one_that_shows_only_others():
    assert groups_differ_p_value([[0, 20], [1, 0]], seed=0) == pytest.approx(1 / 21)
    assert groups_differ_p_value([[1, 0], [0, 20]], seed=0) == pytest.approx(1 / 21)


def test_models_of_two_images_a_prompt_are_ranked():
    apart = group_ranking([[[1, 1]] * 40, [[2, 0]] * 40], level=0.9, seed=0)
    assert [(rank.low, rank.high) for rank in apart] == [(1, 1), (2, 2)]


def test_what_cannot_be_decided_is_first_decided_after_the_last_image():
    assert _first_beyond(SequentialTest(2, 0.9)) == 3
    assert SequentialTest(5, 0.9).looks == (5,)


def test_three_images_are_enough_for_a_correlation():
    line = [0.0, 1.0, 3.0]
    found = s.distance_correlation_interval(line, line, level=0.9)
    assert (found.estimate, found.n) == (pytest.approx(1.0), 3)


def test_two_images_that_moved_are_told_from_chance():
    found = moved_p_value(np.array([[0], [2]]), np.array([[2], [0]]))
    assert found == pytest.approx(stats.norm.cdf(-np.sqrt(2.0)))


@pytest.mark.parametrize(("prompts", "pays"), [(9, False), (10, True)])
def test_ten_prompts_pay_for_the_bias_that_their_counts_show(prompts, pays):
    uneven, even = np.array([[18], [2]]), np.array([[10], [10]])
    before, after = (np.repeat(side, prompts, axis=1) for side in (uneven, even))
    found, error = _by_tables(before, after, 0.95)
    half = stats.norm.ppf(0.975) * error
    reach = (found.estimate - found.low - half, found.high - found.estimate - half)
    assert (max(map(abs, reach)) > 1e-6) == pays
