"""Fast version of correction.py's verdicts: labels no longer fail a fair model."""

from __future__ import annotations

import pytest
from correction import judged

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", ["fair", "0.15 throughout"])
def test_a_model_within_its_limit_does_not_fail_by_its_labels(world):
    found = judged(world, 3, 12, seed=2)
    assert found["effective fail"] <= 1 / 12
    assert found["effective covered"] >= 10 / 12
    assert found["rogan covered"] <= 0.5


def test_a_biased_model_fails():
    found = judged("SDXL's rates", 3, 3, seed=2)
    assert found["effective fail"] == 1.0
    assert found["effective pass"] == 0.0
