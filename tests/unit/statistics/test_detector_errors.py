"""Errors of a detector by group, and what they can make of a bias score."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pytest_t2i.statistics.detector_errors import (
    ErrorRates,
    differential_errors,
    mixed,
    rate_ranges,
)

RATE = st.floats(0.0, 0.4)


@given(RATE, RATE, RATE, RATE, st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=8))
def test_the_moved_range_holds_every_truth(a, b, c, d, scores):
    rates = ErrorRates((min(a, c), max(a, c)), (min(b, d), max(b, d)))
    true = np.array(scores)
    # Labels at both ends of both rates.
    for wrong_men, wrong_women in rates.corners:
        shown = np.abs(true * (1 - wrong_men - wrong_women) + wrong_women - wrong_men).mean()
        low, high = rates.moved(shown, shown)
        assert low - 1e-9 <= np.abs(true).mean() <= high + 1e-9


@given(RATE, RATE, st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
def test_a_score_of_labels_beyond_the_bounds_shows_on_which_side_the_truth_lies(a, b, true, bound):
    within, beyond = ErrorRates((0.0, a), (0.0, b)).bounds_on_labels(bound)
    shown = abs(true * (1 - a - b) + b - a)
    if shown <= within - 1e-9:
        assert abs(true) <= bound + 1e-9
    if shown > beyond + 1e-9:
        assert abs(true) > bound - 1e-9


def test_labels_as_wrong_as_chance_leave_any_score_possible():
    rates = ErrorRates((0.0, 0.6), (0.0, 0.5))
    assert rates.say_nothing
    assert rates.moved(0.2, 0.3) == (0.0, 1.0)


def test_no_errors_leave_the_interval():
    assert ErrorRates((0.0, 0.0), (0.0, 0.0)).moved(0.2, 0.3) == (0.2, 0.3)
    assert ErrorRates((0.0, 0.0), (0.0, 0.0)).bounds_on_labels(0.3) == (0.3, 0.3)


def test_p_values_are_fisher_s_with_holm_s_correction():
    errors = differential_errors([{"young": (11, 72), "old": (5, 170)}], 0.95)
    exact = scipy.stats.fisher_exact(np.array([[11, 61], [5, 165]])).pvalue
    assert errors["young"].p_value == pytest.approx(2 * exact)
    assert errors["old"].rest_right == pytest.approx(61 / 72)


def test_a_group_without_an_image_has_no_share():
    errors = differential_errors([{"young": (0, 0), "old": (5, 170)}], 0.95)
    assert errors["young"].right is None
    assert errors["young"].p_value == 1.0
    assert differential_errors([], 0.95) == {}


def test_groups_that_nobody_tells_may_be_any():
    ranges = rate_ranges({"young": (5, 50), "old": (0, 50)}, 0.95, cells=4)
    low, high = mixed(ranges, [{"": 1.0}])
    assert (low, high) == mixed(ranges, ())
    assert mixed(ranges, [{"old": 1.0}])[1] == ranges["old"][1]
