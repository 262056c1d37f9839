"""Fast version of the simulation of fixed words: no verdict is wrong more often than it may be."""

from __future__ import annotations

import numpy as np
import pytest
from fixed_words import UNEQUAL, decided, simulate
from worlds import FIXED

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", FIXED)
@pytest.mark.parametrize(("prompts", "n"), [(1, 20), (3, 8), (10, 20), (100, 20)])
def test_a_limit_at_the_truth_is_seldom_decided(world: str, prompts: int, n: int) -> None:
    result = simulate(FIXED[world](prompts), n, 120, seed=1)
    # At 5 % of 120 runs, 14 or more have a chance of 1 in 300; at 2.5 %, 10 of 1 in 500.
    assert max(result.failed, result.passed) <= 13 / 120
    assert max(result.too_high, result.too_low) <= 9 / 120


@pytest.mark.parametrize("kind", UNEQUAL)
def test_unequal_images(kind: str) -> None:
    images = simulate(FIXED["all at 0.2"](10), 20, 40, kind=kind, seed=1)
    assert max(images.failed, images.passed) <= 7 / 40


def test_what_is_clear_is_decided() -> None:
    assert decided("sdxl", 100, 20, 0.7, 60)[0] > 0.6
    assert decided("fair", 100, 20, 0.2, 60)[1] > 0.9
    assert decided("fair", 3, 100, 0.2, 60)[1] > 0.5
    assert decided("all at 0.9", 3, 20, 0.5, 60)[0] > 0.9


def test_worlds_are_what_they_say() -> None:
    assert FIXED["sdxl"](100).mean() == pytest.approx(0.7525)
    assert list(FIXED["20 % at 0.8, rest fair"](5)) == [0.8, 0.0, 0.0, 0.0, 0.0]
    assert np.all(FIXED["5 % at 0.9, rest fair"](3) == [0.9, 0.0, 0.0])
