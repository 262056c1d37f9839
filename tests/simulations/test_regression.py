"""The regression gate is quiet for the same model with other seeds, and loud for the biased one."""

from __future__ import annotations

import pytest
from regression import alarms


@pytest.mark.parametrize("world", ["fair", "sdxl"])
@pytest.mark.parametrize("prompts", [3, 40])
def test_same_model_with_other_seeds_rarely_fails(world: str, prompts: int) -> None:
    suite, some, _ = alarms(world, world, prompts, 20, margin=0.05, repeats=10, seed=1)
    assert suite <= 1 / 10
    assert some <= 2 / 10


def test_biased_model_fails() -> None:
    suite, some, each = alarms("fair", "sdxl", 40, 20, margin=0.05, repeats=4, seed=1)
    assert (suite, some) == (1.0, 1.0)
    assert each > 0.4


def test_same_score_spread_otherwise_does_not_fail_the_suite_at_few_images() -> None:
    suite, _, _ = alarms("even", "one-sided", 100, 8, margin=0.0, repeats=10, seed=1)
    assert suite <= 1 / 10
