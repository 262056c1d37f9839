"""Fast version of correction.py's verdicts: labels no longer fail a fair model."""

from __future__ import annotations

import pytest
from correction import judged

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", ["fair", "0.15 throughout"])
def test_a_model_within_its_limit_does_not_fail_by_its_labels(world):
    labels = judged(world, 3, 12, seed=2)
    assert labels["effective fail"] <= 1 / 12
    assert labels["effective covered"] >= 10 / 12
    assert labels["rogan covered"] <= 0.5


def test_a_biased_model_fails():
    fails = judged("SDXL's rates", 3, 3, seed=2)
    assert fails["effective fail"] == 1.0
    assert fails["effective pass"] == 0.0
