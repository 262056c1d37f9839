"""Groups of any number keep their error levels in comparisons of models."""

from __future__ import annotations

import pytest
from any_groups import compared

RUNS = 30


@pytest.mark.slow
def test_equal_models_are_told_apart_seldom_and_differences_are_covered():
    told, covered = compared(3, "alike", "a quarter one-sided", 20, RUNS)
    assert told <= 5
    assert covered >= 25
