"""A short version of the simulation of growth that is found."""

from __future__ import annotations

import pytest
from detectable import found


@pytest.mark.parametrize("world", ["fair", "all .3", "SDXL's rates"])
def test_the_growth_that_is_told_is_found(world):
    # 0.25 of runs from even prompts, before.
    assert found(world, 100, 20, runs=30, seed=2)[1] >= 19
