"""A short version of the simulation of few triplets."""

from __future__ import annotations

import pytest
from few_triplets import rates


@pytest.mark.parametrize("world", ["six of each", "in three triplets of ten", "six, in company"])
@pytest.mark.parametrize("triplets", [3, 10])
def test_a_limit_at_the_truth_rarely_passes(world, triplets):
    found = rates(world, triplets, 0.8, 5)
    for verdict in ("PASS", "FAIL"):
        wrong, judged = found[verdict]
        assert judged > 500
        assert wrong <= 0.07 * judged
