"""Intervals of Simpson's diversity cover as often as they say, in fewer runs than the table has."""

from __future__ import annotations

import pytest
from group_diversity import WORLDS, coverage


@pytest.mark.parametrize("world", ["two, 9 to 1", "four, falling", "seven, long tail"])
def test_intervals_cover(world):
    assert coverage(WORLDS[world], 20, runs=200) >= 0.92
