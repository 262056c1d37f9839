"""A short version of the simulation of places."""

from __future__ import annotations

import pytest
from ranking import EQUAL, UNEQUAL, told

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", EQUAL)
def test_equal_models_are_rarely_told_apart(world):
    # At most 5 % in truth: 6 of 40 or more would come by chance in 1 of 70 runs of this test.
    assert sum(told(EQUAL[world], 40, runs=40, seed=5)) <= 5


def test_a_model_that_is_less_biased_by_a_fifth_is_told():
    first, second = told(UNEQUAL["Beta(2, 2), .2 apart"], 20, runs=20, seed=6)
    assert first >= 18
    assert second == 0
