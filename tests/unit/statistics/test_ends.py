"""Ends: what lies at the edge of a domain, of a tie, or of what counts as evidence."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import statistics as s
from pytest_t2i.data import Interval
from pytest_t2i.statistics.change import growth_probabilities, paired_prompt_p_value
from pytest_t2i.statistics.distances import total_variation_floor
from pytest_t2i.statistics.families import spread_given_counts
from pytest_t2i.statistics.inversion import absolute_p_value, inverted_p_value, towards
from pytest_t2i.statistics.model import (
    lower_end,
    upper_end,
)
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.planning import (
    MOST,
    images_needed,
)
from pytest_t2i.statistics.variety import _wals

NAN = float("nan")


def test_corrected_scores_are_cut_at_one():
    # The detector is right of every other prompt, and here of no labelled image of either kind.
    right = [1.0, -1] * 8
    words = [right] * 10 + [[-1.0] * 6 + [1.0] * 10]
    people = [[*right[:8], *[NAN] * 8]] * 10 + [[1.0] * 6 + [NAN] * 10]
    score = s.corrected_scores(words, people, 0.95).prompts[-1]
    mirrored = s.corrected_scores(
        [[-w for w in row] for row in words], [[-y for y in row] for row in people], 0.95
    ).prompts[-1]
    assert (score.estimate, mirrored.estimate) == (1.0, -1.0)
    assert (score.high, mirrored.low) == (1.0, -1.0)


def test_objects_that_come_with_both_alike_are_no_evidence():
    once = np.array([[1.0], [1.0]])
    for alternative in ("less", "greater"):
        assert object_bias_p_values(once, once, 0.5, seed=0, alternative=alternative)[0] >= 0.5


def test_a_seed_that_lost_its_label_is_no_pair():
    before = [-1] * 6 + [1] * 6 + [1] * 3
    after = [1] * 12 + [0] * 3
    assert paired_prompt_p_value(before, after, shared_seeds=True) == 2 * 0.5**6
    without = paired_prompt_p_value(before[:12], after[:12], shared_seeds=True)
    assert without == 2 * 0.5**6


def test_ends_belong_to_what_is_refuted_exactly():
    assert lower_end(lambda _bound: 0.05, 0.05) == 1.0
    assert upper_end(lambda _bound: 0.05, 0.05) == 0.0
    assert lower_end(lambda bound: 0.06 + bound, 0.05) == 0.0


def test_every_share_is_at_most_one_and_at_least_zero():
    assert s.share_p_value(0, 5, 1.0, "above") == s.share_p_value(5, 5, 1.0, "above") == 1.0
    assert s.share_p_value(0, 5, 0.0, "below") == s.share_p_value(5, 5, 0.0, "below") == 1.0


def test_what_is_neither_says_what_it_could_be():
    with pytest.raises(ValueError, match=r"must be .greater. or .less., got alternative"):
        s.model_bias_p_value([10], [10], 0.2, alternative="x")
    with pytest.raises(ValueError, match=r"the shape \(1, 2\) or \(2,\), got"):
        total_variation_floor([[3, 4]], [0.2, 0.3, 0.5])


def test_an_interval_is_mirrored_whole():
    interval = Interval(0.2, -0.1, 0.6, 0.95, "test", 3)
    assert towards(interval, 1.0) == interval
    assert towards(interval, 0.0) == interval
    assert towards(interval, -1.0) == Interval(-0.2, -0.6, 0.1, 0.95, "test", 3)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_an_absolute_value_is_tested_alike_on_either_side(alternative):
    found = [
        absolute_p_value(
            lambda level, men=men: s.prompt_bias_interval(men, 20 - men, level), 0.3,
            alternative=alternative,
        )
        for men in (15, 5)
    ]  # fmt: skip
    assert found[0] == found[1]
    assert (found[0] < 0.5) == (alternative == "greater")


def test_the_tail_on_the_other_side_counts_for_an_absolute_value():
    def interval(level):
        return s.prompt_bias_interval(16, 4, level)

    one_sided = inverted_p_value(interval, 0.0)
    assert absolute_p_value(interval, 0.0, alternative="greater") == pytest.approx(2.0 * one_sided)


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_prompt_without_an_image_on_one_side_tells_of_no_growth(side):
    ten, nine = [10] * 10, [10] * 9 + [0]
    before, after = (nine, ten) if side == "before" else (ten, nine)
    assert growth_probabilities(before, before, after, after) is None
    assert growth_probabilities(ten, ten, ten, ten) is not None


def test_a_word_is_a_sign():
    for sign in (-1.5, 1.5):
        with pytest.raises(ValueError, match=r"words\[0\]"):
            s.corrected_scores([[1, sign]], [[1, 1]], 0.95)


def test_just_the_wanted_power_is_enough():
    def from_seven(n):
        return 0.8 if n >= 7 else 0.7

    assert images_needed(from_seven, 0.8) == 7
    assert images_needed(from_seven, 0.8, sizes=(5, 6, 7, 9)) == 7
    assert images_needed(lambda n: 0.8 if n >= MOST else 0.0, 0.8) == MOST
    assert images_needed(lambda n: 0.8 if n > MOST else 0.0, 0.8) is None
    assert images_needed(lambda n: 0.8, 0.8) == 1


def test_two_images_of_a_prompt_rank_models_and_one_does_not():
    ranks = s.ranking([[2, 0], [1, 1]], [[0, 2], [1, 1]], level=0.9, seed=0)
    assert len(ranks) == 2
    with pytest.raises(ValueError, match="two clear images of every model"):
        s.ranking([[1, 0], [1, 1]], [[0, 1], [1, 1]], level=0.9, seed=0)


def test_no_more_images_are_clear_than_there_are():
    # People find every labelled image clear that the detector lost, and it keeps all the others.
    right = [1.0, 0] * 8
    words = [right] * 10 + [[0.0] * 6 + [1.0] * 10]
    people = [[*right[:8], *[NAN] * 8]] * 10 + [[1.0] * 6 + [NAN] * 10]
    scores = s.corrected_scores(words, people, 0.95)
    assert scores.male[-1] + scores.female[-1] == 16.0


@pytest.mark.parametrize("counts", [[[1, 0]], [1, 0, 1]])
def test_objects_need_two_triplets(counts):
    for call in (s.object_bias_intervals, object_bias_p_values):
        options = {"level": 0.9} if call is s.object_bias_intervals else {"bound": 0.6, "seed": 0}
        with pytest.raises(ValueError, match="2 or more triplets"):
            call(counts, counts, **options)


def test_images_that_are_all_zero_show_nothing():
    assert _wals(np.zeros((4, 3)), np.eye(3)[0], None, center=False) == 0.0
    assert _wals(np.ones((4, 3)), np.eye(3)[0], None, center=True) == 0.0


def test_one_image_before_can_be_compared_with_many_now():
    before, after = [[1, *[0] * 9]], [[1] * 10]
    assert paired_change_p_value(before, after, seed=0) < 1.0
    assert paired_change_p_value([[0] * 10], after, seed=0) == 1.0
    assert paired_change_p_value(after, [[0] * 10], seed=0) == 1.0


def test_a_prompt_without_an_image_tells_nothing_of_the_others():
    men, women = np.array([9, 1, 5, 7, 3, 8, 2, 10, 6, 4]), np.array([1, 9, 5, 3, 7, 2, 8, 0, 4, 6])
    alone = spread_given_counts(men, women)
    among = spread_given_counts(np.append(men, [0, 0, 0]), np.append(women, [0, 0, 0]))
    assert among[:10] == pytest.approx(alone)


def test_an_alternative_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"'greater' or 'less', got alternative='beyond'"):
        object_bias_p_values([[3], [4]], [[1], [2]], 0.6, seed=0, alternative="beyond")
