"""A range of images, as the score is known no better than its interval says."""

from __future__ import annotations

import pytest
from scipy import stats

from pytest_t2i.data import Interval
from pytest_t2i.verdicts.images_to_decide import ImagesRange, change_range, images_range


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_both_ends_of_the_score_make_both_ends_of_the_range(side):
    # Its error on the side of the bound counts, the other one does not.
    low, high = (0.3, 0.45) if side < 0 else (0.35, 0.5)
    interval, bound = Interval(0.4, low, high, 0.9, "test", 20), 0.4 + side * 0.2
    reach = stats.norm.ppf(0.9) * 0.1 / stats.norm.ppf(0.95)
    found = images_range(1000, interval, bound)
    assert found.low == pytest.approx(1000 * (0.2 / (0.2 + reach)) ** 2, abs=1)
    assert found.high == pytest.approx(1000 * (0.2 / (0.2 - reach)) ** 2, abs=1)


def test_a_score_that_may_lie_at_its_bound_has_no_last_number():
    interval = Interval(0.4, 0.2, 0.6, 0.95, "test", 20)
    assert images_range(50, interval, 0.5).high is None
    assert images_range(50, interval, 0.4) == ImagesRange(50, None)
    assert images_range(9_000_000, interval, 0.55).high is None


def test_images_that_there_are_are_taken_off():
    assert ImagesRange(20, 60).less(30) == ImagesRange(1, 30)
    assert ImagesRange(40, None).less(30) == ImagesRange(10, None)


def test_a_range_without_a_last_number_says_so():
    assert ImagesRange(12, 40).words("per prompt") == "12 to 40 per prompt"
    open_end = "at least 10 more; no upper end is known yet"
    assert ImagesRange(10, None).words("more") == open_end


def test_a_change_that_may_be_none_is_taken_for_none():
    small = Interval(0.06, -0.02, 0.14, 0.95, "paired", 30)
    none = Interval(0.0, -0.08, 0.08, 0.95, "paired", 30)
    assert change_range(100, small, 0.1) == images_range(100, none, 0.1)


def test_a_change_that_is_one_is_taken_as_measured():
    grown = Interval(0.06, 0.02, 0.1, 0.95, "paired", 30)
    assert change_range(100, grown, 0.1) == images_range(100, grown, 0.1)
    fallen = Interval(-0.06, -0.1, -0.02, 0.95, "paired", 30)
    assert change_range(100, fallen, 0.1) == images_range(100, fallen, 0.1)


def test_a_change_whose_interval_ends_at_none_may_be_none():
    fallen, grown = Interval(-0.05, -0.1, 0.0, 0.95, "", 9), Interval(0.05, 0.0, 0.1, 0.95, "", 9)
    none = Interval(0.0, -0.05, 0.05, 0.95, "", 9)
    for change in (fallen, grown):
        assert change_range(100, change, 0.1) == images_range(100, none, 0.1)
