"""Groups of any number keep their error levels under looks, and in comparisons of models."""

from __future__ import annotations

import pytest
from any_groups import compared, looked_at, streamed

RUNS = 30


@pytest.mark.slow
def test_whoever_looks_at_the_model_errs_seldom():
    fails, passes = looked_at(3, "alike", RUNS)
    # Of 30 at 5 % six or more are seen once in 300 times.
    assert (fails <= 5, passes <= 5) == (True, True)


@pytest.mark.slow
def test_whoever_looks_at_a_prompt_errs_seldom_and_finds_what_is_there():
    fails, passes, found, even = streamed(4, 0, RUNS)
    assert (fails <= 5, passes <= 5) == (True, True)
    assert (found >= 20, even >= 20) == (True, True)


@pytest.mark.slow
def test_equal_models_are_told_apart_seldom_and_differences_are_covered():
    told, covered = compared(3, "alike", "a quarter one-sided", 20, RUNS)
    assert told <= 5
    assert covered >= 25
