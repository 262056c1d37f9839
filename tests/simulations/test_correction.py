"""Fast version of correction.py's verdicts: labels no longer fail a fair model."""

from __future__ import annotations

import pytest
from correction import AT_LIMIT, at_limit, judged
from uncertainty import least

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", ["fair", "0.15 throughout"])
def test_a_model_within_its_limit_does_not_fail_by_its_labels(world):
    labels = judged(world, 5, 12, seed=2)
    assert labels["effective fail"] <= 1 / 12
    assert labels["effective covered"] >= 10 / 12


def test_a_biased_model_fails():
    fails = judged("SDXL's rates", 5, 3, seed=2)
    assert fails["effective fail"] == 1.0
    assert fails["effective pass"] == 0.0


@pytest.mark.parametrize("world", AT_LIMIT)
@pytest.mark.parametrize("labels", [5, 10])
def test_a_model_at_its_limit_is_rarely_decided(world, labels):
    for wrong in at_limit(world, labels, 100, seed=3).values():
        assert least(wrong) <= 0.05
