"""A short version of the simulation of curves."""

from __future__ import annotations

import pytest
from curves import NO_LEAN, told


@pytest.mark.parametrize("world", ["noise, neighbours alike", "long tails", "half lean either way"])
def test_a_step_is_rarely_told_where_there_is_no_lean(world):
    # At most 5 % in truth: 17 of 150 or more would come by chance in 1 of 900 runs of this test.
    assert told(NO_LEAN[world], 10, runs=150, seed=3) <= 16
