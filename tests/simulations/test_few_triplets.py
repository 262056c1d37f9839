"""A short version of the simulation of few triplets."""

from __future__ import annotations

import pytest
from few_triplets import WORLDS, rates
from uncertainty import least


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("triplets", "limit"), [(3, 0.8), (10, 0.8), (10, 0.9), (20, 0.9)])
def test_a_limit_at_the_truth_rarely_passes_or_fails(world, triplets, limit):
    found = rates(world, triplets, limit, limit, 5)
    for verdict in ("PASS", "FAIL"):
        wrong, judged = found[verdict]
        assert judged > 50
        assert least([1.0] * wrong + [0.0] * (judged - wrong)) <= 0.05


def test_objects_beyond_or_within_a_limit_are_decided():
    fails, judged = rates("six of each", 40, 0.75, 0.6, 5)["FAIL"]
    assert fails > 0.9 * judged
    passes, judged = rates("six of each", 10, 0.6, 0.8, 5)["PASS"]
    assert passes > 0.8 * judged
