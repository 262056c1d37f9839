"""Drawing with unequal probabilities: always as many, each as often as it should be."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics.correction.choice import choice_probabilities, drawn


def test_what_is_doubtful_is_likelier_and_nothing_is_impossible():
    doubt = np.array([0.0, 0.1, 0.2, 0.4, 1.0] * 20)
    chances = choice_probabilities(doubt, 30)
    assert chances.sum() == pytest.approx(30.0)
    assert np.all(np.diff(chances[:5]) > 0.0)
    # A fifth of 30 spread over 100 images.
    assert chances.min() == pytest.approx(0.06)


def test_no_probability_exceeds_one_and_the_rest_is_spread():
    chances = choice_probabilities([100.0, 1.0, 1.0, 1.0], 2)
    assert chances == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])
    assert choice_probabilities([0.3, 0.0, 0.0], 3) == pytest.approx([1.0, 1.0, 1.0])


def test_without_any_doubt_all_are_alike():
    assert choice_probabilities(np.zeros(10), 4) == pytest.approx(np.full(10, 0.4))


@pytest.mark.parametrize("count", [0, 5])
def test_a_number_outside_is_refused(count):
    with pytest.raises(ValueError, match=f"between 1 and 4, got count={count}"):
        choice_probabilities(np.ones(4), count)


def test_each_is_drawn_as_often_as_said_and_always_as_many():
    chances = np.array([1.0, 0.9, 0.7, 0.5, 0.3, 0.3, 0.2, 0.1])
    taken = np.zeros(8)
    for seed in range(3000):
        places = drawn(chances, seed)
        assert len(places) == 4
        taken[places] += 1
    # Five standard errors.
    assert np.all(np.abs(taken / 3000 - chances) <= 5 * np.sqrt(chances * (1 - chances) / 3000))


def test_one_seed_draws_the_same_and_another_others():
    chances = np.full(50, 0.4)
    assert drawn(chances, 3).tolist() == drawn(chances, 3).tolist()
    assert drawn(chances, 3).tolist() != drawn(chances, 4).tolist()


def test_no_whole_number_is_refused():
    with pytest.raises(ValueError, match=r"whole number, got 1\.2"):
        drawn([0.6, 0.6], 0)


def test_what_has_no_chance_is_never_drawn():
    for seed in range(20):
        assert drawn([0.0, 0.0, 1.0, 0.0, 0.0], seed).tolist() == [2]
