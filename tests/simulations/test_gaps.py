"""Fast version of gaps.py: no gap equal to its limit fails, whatever few values hide."""

from __future__ import annotations

import pytest
from gaps import LIMITS, WORLDS, decided, wrong
from uncertainty import least


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("world", WORLDS)
def test_few_values_keep_the_level(world, limit):
    for size in ((1, 4), (5, 2), (1, 10)):
        fail, passed, _ = wrong(world, *size, limit, 40)
        assert max(least(fail, 0.999), least(passed, 0.999)) <= 0.05


def test_two_hundred_values_decide():
    assert sum(decided(0.0, 0.1, 50, 4, 20)) >= 18
    assert sum(decided(0.3, 0.1, 5, 20, 20)) >= 18
