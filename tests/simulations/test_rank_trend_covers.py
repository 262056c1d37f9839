"""A short version of the simulation of rank correlations."""

from __future__ import annotations

import pytest
from rank_trend import WORLDS, found


@pytest.mark.parametrize("world", WORLDS)
def test_a_correlation_is_covered(world):
    # 0.50 of cases before, of eight close groups at 20 images.
    covers, _, wrong, _ = found(world, 1, 20, runs=40, seed=4)
    assert covers >= 37
    assert wrong == 0


def test_groups_far_apart_tell_a_trend():
    assert found("eight far apart, falling", 4, 100, runs=20, seed=5)[1] == 20
