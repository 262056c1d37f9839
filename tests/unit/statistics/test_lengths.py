"""Arguments that belong together and differ in length are refused, and so is what is no sample."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_t2i import statistics as s
from pytest_t2i.data import Evidence, Interval, Limit
from pytest_t2i.statistics.model import Sizes, expected_score, score_tails
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.verdicts.judge import judge_family

NAN = math.nan
SEEN = Interval(0.2, 0.1, 0.5, 0.9, "test", 9)
CASES = [
    lambda: s.corrected_scores([[1, 1, -1] * 3] * 2, [[1, -1, NAN] * 3], 0.9),
    lambda: score_tails(Sizes((20,), (1,)), (0.0, 0.5), 1.0),
    lambda: score_tails(Sizes((20, 8), (1, 2)), (0.0,), 1.0),
    lambda: judge_family([SEEN], [Evidence(0.1, 0.2)] * 2, Limit("x", 0.5), "higher", level=0.9),
]


@pytest.mark.parametrize("call", CASES)
def test_what_is_of_another_length_is_refused(call):
    with pytest.raises(ValueError, match=r"long|length|short|shape"):
        call()


@pytest.mark.parametrize("side", [0, 2])
@pytest.mark.parametrize("gender", [0, 1])
def test_a_prompt_of_one_image_on_a_side_is_compared(side, gender):
    # All that a prompt of one image shows is one gender: alone it tells of no change at all, and
    # beside others it is one of the tables that are drawn anew.
    counts = [[10] * 4, [10] * 4, [12] * 4, [8] * 4]
    with_one = [[*row, 10] for row in counts]
    with_one[side][-1], with_one[side + 1][-1] = (1, 0) if gender == 0 else (0, 1)
    p_value = s.change_p_value(*with_one, seed=0)
    assert p_value != s.change_p_value(*counts, seed=0)
    with_none = [[*row, 10] for row in counts]
    with_none[side][-1] = with_none[side + 1][-1] = 0
    assert s.change_p_value(*with_none, seed=0) == s.change_p_value(*counts, seed=0)


def test_images_of_several_numbers_are_expected_by_their_numbers():
    # Two images of a fair prompt agree half of the time; one always does.
    assert expected_score(np.array([2, 1, 2]), np.array([0.0])) == pytest.approx([2.0 / 3.0])
    assert expected_score(np.array([1, 2]), np.array([0.0, 1.0])) == pytest.approx([0.75, 1.0])


def test_a_pair_without_a_label_on_a_side_is_left_out():
    before, after = [[1, -1] * 6] * 3, [[1, 1] + [1, -1] * 5] * 3
    p_value = paired_change_p_value(before, after, seed=0)
    for empty in ([0] * 12, [0, 0]):
        full = [1] * len(empty)
        for pair in ((empty, full), (full, empty), (empty, empty)):
            assert paired_change_p_value([*before, pair[0]], [*after, pair[1]], seed=0) == p_value
    # One label on either side is enough to be one of those that are drawn anew.
    one = paired_change_p_value([*before, [1, 0]], [*after, [0, -1]], seed=0)
    assert one != p_value
