"""What people would likely say: the detector's word and the other images of a prompt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

from pytest_t2i.statistics.correction.likely import (
    Calibration,
    calibrated,
    doubts,
    likely_signs,
)


def test_a_lone_word_against_all_others_is_likely_wrong():
    [signs] = likely_signs([np.array([1.7] * 19 + [-1.7])], Calibration())
    assert signs[0] > 0.98
    assert 0.0 < signs[-1] < 0.9


def test_among_as_many_of_both_the_word_counts_as_it_is():
    [signs] = likely_signs([np.array([2.0, -2.0] * 10)], Calibration())
    assert signs[0] == pytest.approx(np.tanh(1.0), abs=1e-6)
    assert signs[1] == pytest.approx(-np.tanh(1.0), abs=1e-6)


def test_a_calibration_is_read_into_the_odds():
    [plain] = likely_signs([np.array([1.0, -1.0] * 10)], Calibration())
    [steep] = likely_signs([np.array([1.0, -1.0] * 10)], Calibration(0.0, 2.0))
    [shifted] = likely_signs([np.array([1.0, -1.0] * 10)], Calibration(-1.0, 1.0))
    assert steep[0] > plain[0]
    assert shifted.mean() < plain.mean() - 0.2


def test_doubt_is_largest_where_the_word_stands_alone():
    [of] = doubts([np.array([1.7] * 18 + [-1.7, np.nan])])
    assert of.argmax() == 18
    [even] = doubts([np.array([1.7, -1.7, np.nan] * 6)])
    assert even[0] == pytest.approx(even[1])
    # Without a word: sqrt((1 - 0) / 2) in an even prompt.
    assert even[2] == pytest.approx(np.sqrt(0.5), abs=1e-6)


@pytest.mark.parametrize(("male", "female"), [(0.85, 0.85), (0.95, 0.75)])
def test_labels_say_how_often_words_are_right(male, female):
    rng = np.random.default_rng(1)
    signs = np.where(rng.random(20000) < 0.7, 1.0, -1.0)
    right = rng.random(20000) < np.where(signs > 0, male, female)
    words = np.where(right, signs, -signs)
    found = calibrated(1.5 * words, signs, np.ones(20000))
    assert found.shift + 1.5 * found.slope == pytest.approx(
        logit(male / (male + 1 - female)), abs=0.15
    )
    assert found.shift - 1.5 * found.slope == pytest.approx(
        logit((1 - male) / (1 - male + female)), abs=0.15
    )


def test_weights_undo_an_uneven_choice():
    rng = np.random.default_rng(2)
    signs = np.where(rng.random(40000) < 0.5, 1.0, -1.0)
    odds = signs * 2.0 + 2.0 * rng.standard_normal(40000)
    chances = np.where(np.abs(odds) < 1.0, 0.9, 0.1)
    kept = rng.random(40000) < chances
    everything = calibrated(odds, signs, np.ones(40000))
    drawn = calibrated(odds[kept], signs[kept], 1.0 / chances[kept])
    assert drawn.slope == pytest.approx(everything.slope, abs=0.08)
    assert drawn.shift == pytest.approx(everything.shift, abs=0.08)


def test_without_labels_words_are_taken_as_they_are():
    assert calibrated(np.array([]), np.array([]), np.array([])) == (0.0, 1.0)
