"""A short version of the simulation of curves."""

from __future__ import annotations

import pytest
from curves import NO_LEAN, held, told


@pytest.mark.parametrize("world", ["noise, neighbours alike", "long tails", "half lean either way"])
def test_a_step_is_rarely_told_where_there_is_no_lean(world):
    # At most 5 % in truth: 17 of 150 or more would come by chance in 1 of 900 runs of this test.
    assert told(NO_LEAN[world], 10, runs=150, seed=3) <= 16


@pytest.mark.parametrize("n", [5, 20])
def test_a_band_holds_where_one_image_in_ten_goes_the_other_way(n):
    # 0.63 and 0.85 of cases before the mirrored mean took part.
    assert held("1 in 10 goes the other way, noise 0.03", n, runs=100, seed=4)[0] >= 91
