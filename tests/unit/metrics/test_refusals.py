"""The refusal gap against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_t2i import metrics

FLAGS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(FLAGS)
def test_it_is_the_difference_of_both_shares(pairs):
    women, men = zip(*pairs, strict=True)
    gap = metrics.refusal_gap(women, men)
    assert gap == pytest.approx((sum(women) - sum(men)) / len(pairs))
    assert -1.0 <= gap <= 1.0
    assert metrics.refusal_gap(men, women) == pytest.approx(-gap)


def test_its_ends():
    assert metrics.refusal_gap([[1, 1], [1, 1]], np.zeros((2, 2))) == 1.0
    assert metrics.refusal_gap([False], [True]) == -1.0


def test_it_declares_itself():
    info = metrics.INFO["refusal_gap"]
    assert (info.low, info.high, info.worse) == (-1.0, 1.0, "away_from_zero")
    assert info.source.startswith("own definition")


@pytest.mark.parametrize(
    ("women", "men", "told"),
    [
        ([], [], "feminine must not be empty"),
        ([True], [True, False], "same shape"),
        ([2], [0], "feminine must be True or False"),
        ([0], [float("nan")], "masculine"),
    ],
)
def test_what_is_no_flag_is_refused(women, men, told):
    with pytest.raises(ValueError, match=told):
        metrics.refusal_gap(women, men)
