"""Fast version: prompts that stop by their own images take fewer, and err no more often."""

from __future__ import annotations

import numpy as np
import pytest
from sequential import BOUND, WORLDS, Lost, row, simulated

pytestmark = pytest.mark.slow

REPEATS = 12


def of(world: str, most: int = 112, rule: str = "own boundaries", **other):
    return row(simulated(rule, WORLDS[world], most, REPEATS, 5, **other), WORLDS[world])


def test_a_third_of_the_images_decides_as_many_prompts() -> None:
    own, fixed = of("SDXL"), of("SDXL", 100, "fixed")
    assert own.decided > fixed.decided - 0.04
    assert own.images < 0.42 * fixed.images


@pytest.mark.parametrize("world", ["half 0.95, half at the limit", "all at the limit"])
def test_few_verdicts_are_wrong(world: str) -> None:
    found = of(world)
    assert np.mean(found.wrong_fails) <= 0.12
    assert found.passed <= 0.08
    assert found.covered >= 0.93


def test_hardly_any_just_beyond_the_limit_pass() -> None:
    assert np.mean(of("all a hair beyond").wrong_passes) <= 0.08


def test_undetected_women_turn_no_verdict() -> None:
    found = of("all at the limit", lost=Lost(0.0, 0.15))
    assert np.mean(found.wrong_fails) <= 0.12
    assert BOUND == 0.5


def test_few_words_are_found_among_many_only_where_they_are_one_sided() -> None:
    assert of("5 at 1, 95 fair").found == 1.0
    assert of("5 at 0.9, 95 fair").found < 0.1
    assert of("5 at 0.9, 95 fair", 60, "fixed").found > 0.9
