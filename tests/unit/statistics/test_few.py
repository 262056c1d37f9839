"""One image, one prompt, none at all, and intervals as wide as what they measure can be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics as s
from pytest_t2i.statistics import permutation as baseline_model_test
from pytest_t2i.statistics import planning as model_plan
from pytest_t2i.statistics.associations import rank_correlation_interval
from pytest_t2i.statistics.change import growth_probabilities, paired_prompt_p_value
from pytest_t2i.statistics.detectors import deviation_interval
from pytest_t2i.statistics.distances import mean_total_variation_interval, total_variation_bounds
from pytest_t2i.statistics.families import (
    adaptive_discarding,
    family_p_values,
    family_share_p_values,
)
from pytest_t2i.statistics.gaps import parity_difference_interval, parity_shares
from pytest_t2i.statistics.permutation import AT_ONCE, _chunks, paired_change_p_value
from pytest_t2i.statistics.planning import model_images_needed

NAN = float("nan")


@pytest.mark.parametrize("answer", model_plan.TRIED)
def test_the_fewest_images_that_are_tried_are_found(answer, monkeypatch):
    def power(_worlds, _decided, images, _design):
        return 0.6 if images >= answer else 0.4

    monkeypatch.setattr(model_plan, "simulated_power", power)
    assert model_images_needed([5], [5], 0.3, level=0.95) == answer
    assert model_images_needed([5], [5], 0.3, level=0.95, power=0.61) is None


def test_a_prompt_of_one_image_counts_with_the_others():
    # Benjamini-Hochberg: the smallest of two p-values is doubled, whatever the other.
    clear = 0.6**20
    two = family_share_p_values([20, 1], [20, 1], [0.6, 0.5], level=0.95)
    assert two == pytest.approx([2.0 * clear, 0.5])
    for k, n, bound in ((0, 0, 0.5), (9, 9, 1.0)):
        beside = family_share_p_values([20, k], [20, n], [0.6, bound], level=0.95)
        assert beside == pytest.approx([clear, 1.0])
    prompts = family_p_values([20, 1, 0], [0, 0, 0], 0.2, level=0.95)
    assert prompts == pytest.approx([2.0 * (0.6**20 + 0.4**20), 1.0, 1.0])


def test_a_prompt_of_one_image_has_a_score_of_one():
    counts = [1, 10, 1, 10, 1], [0, 10, 0, 10, 0], [3, 9, 3, 9, 3], [1] * 5
    found = deviation_interval(*counts, level=0.9)
    assert found.estimate == pytest.approx(100.0 * (0.6 / 0.62 - 1.0))
    assert -100.0 <= found.low < found.estimate < found.high <= 100.0 * (1.0 / 0.62 - 1.0)


def test_what_cannot_be_attained_but_by_certainty_is_left_out():
    assert adaptive_discarding([0.0, 1.0], [[0.0, 1.0]] * 2, 0.95).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("shared", [True, False])
def test_a_side_without_a_label_is_no_evidence(shared):
    labels, none = [1, 1, -1, 1], [0, 0, 0, 0]
    for pair in ((labels, none), (none, labels), (none, none)):
        assert paired_prompt_p_value(*pair, shared_seeds=shared) == 1.0


@pytest.mark.parametrize("gender", [1, -1])
def test_a_seed_that_had_no_label_is_no_pair(gender):
    before, after = [-gender] * 6 + [gender] * 6, [gender] * 12
    p_value = 2 * 0.5**6
    assert paired_prompt_p_value(before, after, shared_seeds=True) == p_value
    for label in (gender, -gender):
        seen = paired_prompt_p_value([*before, 0, 0], [*after, label, label], shared_seeds=True)
        assert seen == p_value
        lost = paired_prompt_p_value([*before, label, label], [*after, 0, 0], shared_seeds=True)
        assert lost == p_value


def test_worst_cases_are_told_to_twelve_digits():
    counts, reference = {"a": 1, "b": 2}, {"a": 0.0, "b": 1.0}
    bounds = total_variation_bounds(counts, 3, reference)
    assert (bounds.low, bounds.high) == (round(1 / 6, 12), round(4 / 6, 12))
    assert bounds.low != 1 / 6


def test_labels_that_tell_nothing_leave_all_open():
    words = [[1, -1] * 20] * 2
    people = [[1, 1, -1, -1, 1, *[NAN] * 35]] * 2
    scores = s.corrected_scores(words, people, 0.99)
    assert scores.model.low == 0.0
    words, people = [[1] * 9] * 2, [[1, 1, 1, 1, -1, NAN, NAN, NAN, NAN]] * 2
    assert s.corrected_scores(words, people, 0.99).model.high == 1.0


def test_no_fewer_than_one_image_is_taken_for_clear():
    words = [[1, -1] + [1] * 6, [0] * 8]
    people = [[1, -1, 1, 1, 1, NAN, NAN, NAN], [0] * 5 + [NAN] * 3]
    scores = s.corrected_scores(words, people, 0.95)
    assert scores.male[1] + scores.female[1] == pytest.approx(1.0)
    assert scores.prompts[1].estimate == 0.0


def test_pairs_are_redrawn_in_parts_that_fit(monkeypatch):
    asked = []
    monkeypatch.setattr(
        baseline_model_test, "_chunks", lambda redraws, cells: asked.append(cells) or [redraws]
    )
    paired_change_p_value([[1, -1]] * 4, [[1, 1]] * 4, seed=0)
    s.change_p_value([1, 5, 0], [1, 2, 0], [2, 4, 1], [0, 3, 1], seed=0)
    assert asked == [4 * 9, 2]


def test_redraws_are_made_in_parts_that_fit():
    assert list(_chunks(1000, AT_ONCE)) == [1] * 1000
    assert list(_chunks(1000, 3 * AT_ONCE)) == [1] * 1000
    assert list(_chunks(1000, AT_ONCE // 400)) == [400, 400, 200]
    assert list(_chunks(1000, 1)) == [1000]


def test_prompts_before_and_after_one_another_are_compared_from_two_images_on():
    change = s.paired_model_bias_change(
        [2, 1, 9], [0, 0, 1], [1, 1, 5], [1, 0, 5], level=0.9, seed=0
    )
    assert change.n == 2


@pytest.mark.parametrize(("images", "tells"), [(1, True), (0, False)])
def test_ten_prompts_tell_of_growth(images, tells):
    men = np.array([9] * 9 + [images])
    probabilities = growth_probabilities(men, 10 - np.array([9] * 9 + [10]), men, [1] * 9 + [0])
    assert (probabilities is not None) is tells


def test_an_empty_group_may_be_anything():
    shares = parity_shares({"a": [[1, 0]], "b": []}, level=0.9)
    assert (shares["b"].estimate, shares["b"].low, shares["b"].high) == (0.5, 0.0, 1.0)
    assert (shares["b"].n, shares["b"].method) == (0, "none")
    gap = parity_difference_interval({"a": [[1], [], [0]], "b": [[1]]}, level=0.9)
    assert (gap.n, gap.estimate) == (3, 0.5)
    with pytest.raises(ValueError, match="at least two groups must have an image, got 1"):
        parity_difference_interval({"a": [[1, 0]], "b": []}, level=0.9)


def test_groups_that_never_meet_differ_by_at_most_one():
    gap = parity_difference_interval({"a": [[1] * 9] * 2, "b": [[0] * 9] * 2}, level=0.9)
    assert (gap.estimate, gap.high) == (1.0, 1.0)
    assert gap.low > 0.0


def test_distances_of_any_reference_are_numbers():
    for share in np.linspace(0.0, 1.0, 21):
        reference = [share, 1.0 - share]
        for counts in ([[9, 0], [0, 9]], [[9, 0], [9, 0]]):
            found = mean_total_variation_interval(counts, reference, level=0.9)
            assert 0.0 <= found.estimate <= max(reference) + 1e-9


def test_three_groups_are_the_fewest_of_a_trend():
    groups = [[(k, 10, 0.1, 1)] for k in (9, 5, 2)]
    trend = rank_correlation_interval([1.0, 2.0, 3.0], groups, level=0.9, seed=0)
    assert (trend.estimate, trend.n) == (-1.0, 3)
    for group in ([(11, 10, 0.1, 1)], [(-1, 10, 0.1, 1)], [(0, 0, 0.1, 1)]):
        with pytest.raises(ValueError, match="judged images"):
            rank_correlation_interval([1.0, 2.0, 3.0], [*groups[:2], group], level=0.9, seed=0)


@pytest.mark.parametrize(("prompts", "discards"), [(4, False), (5, True)])
def test_five_shares_are_adjusted_by_discarding(prompts, discards):
    k, n = [20, 12, 12, 12, 12][:prompts], [20] * prompts
    table = stats.binom.sf(np.arange(-1, 20), 20, 0.6)
    adjusted = family_share_p_values(k, n, [0.6] * prompts, level=0.95)
    discarded = adaptive_discarding(table[k], [table] * prompts, 0.95)
    plain = s.benjamini_hochberg(table[k])
    assert discarded[0] != pytest.approx(plain[0])
    assert adjusted == pytest.approx(discarded if discards else plain)
