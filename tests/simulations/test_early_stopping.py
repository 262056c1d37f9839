"""Fast version: early stopping spares images, and is wrong no more often than it may."""

from __future__ import annotations

import numpy as np
import pytest
from early_stopping import bias_of, is_wrong, run, stop
from worlds import table7

pytestmark = pytest.mark.slow

REPEATS = 12


@pytest.mark.parametrize("model", ["sdxl", "sd3", "dreamlike"])
def test_clear_cases_take_a_fifth_of_the_images(model: str) -> None:
    looked = [run(table7(model), seed) for seed in range(REPEATS)]
    for limit in (0.2, 0.3):
        stops = [stop(entry, limit) for entry in looked]
        assert np.mean([entry.images for entry in stops]) <= 5
        assert not any(is_wrong(entry.outcome, bias_of(table7(model)), limit) for entry in stops)


@pytest.mark.parametrize("world", ["sdxl", "fair", "even"])
def test_at_the_truth_hardly_any_run_fails(world: str) -> None:
    shares = {"sdxl": table7("sdxl"), "fair": np.full(100, 0.5), "even": np.full(100, 0.6)}
    bias = bias_of(shares[world])
    stops = [stop(run(shares[world], 100 + seed), bias) for seed in range(REPEATS)]
    # 12 runs at 5 %: 4 or more have a chance of 1 in 450.
    assert sum(is_wrong(entry.outcome, bias, bias) for entry in stops) <= 3
