"""Fast versions of the simulations: the corrected score and its interval keep what they promise."""

from __future__ import annotations

import pytest
from model_bias import errors, misses

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("world", "n", "bias"),
    [("fair", 8, 0.11), ("fair", 20, 0.075), ("fair", 100, 0.035), ("sdxl", 8, 0.01),
     ("sdxl", 20, 0.01), ("dreamlike", 20, 0.015), ("sdxl", 100, 0.01)],
)  # fmt: skip
def test_corrected_score_is_nearly_unbiased(world: str, n: int, bias: float) -> None:
    result = errors(world, 100, n, repeats=25, seed=5)
    ours = abs(result["midpoint of bounds"].mean())
    assert ours < bias
    assert ours < abs(result["paper"].mean())


@pytest.mark.parametrize("world", ["fair", "sdxl"])
def test_interval_covers(world: str) -> None:
    high, low, _ = misses(world, 100, 20, repeats=20, seed=11)
    # 20 intervals at 95 %: 4 or more misses have a chance of 1 in 60.
    assert high + low <= 3 / 20
