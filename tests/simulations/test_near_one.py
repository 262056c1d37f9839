"""A short version of the simulation of limits near 1."""

from __future__ import annotations

import pytest
from near_one import WORLDS, verdicts


@pytest.mark.parametrize("world", WORLDS)
def test_a_limit_at_the_truth_rarely_passes(world):
    # At most 5 % in truth: 17 of 150 or more would come by chance in 1 of 900 runs of this test.
    for images in (20, 40):
        assert max(verdicts(world, images, above=0.0, runs=150, seed=1)) <= 16
