"""Fast version: the hunt finds what is planted, for a quarter of the images, and little else."""

from __future__ import annotations

import numpy as np
import pytest
from hunt import curse, go, worlds

pytestmark = pytest.mark.slow

RUNS = 5


@pytest.fixture(scope="module", params=["fair", "SDXL, both pairs", "fair, cup + hospital"])
def runs(request):
    """Some hunts in one world."""
    return [go(worlds()[request.param], run, 2400) for run in range(RUNS)]


def test_a_quarter_of_the_full_grid_is_enough(runs):
    assert all(run.made <= run.result.plan.full_grid / 4 for run in runs)
    planted = runs[0].world.planted
    result = [run.found(words) for run in runs for words in planted]
    assert np.mean(result or [1.0]) >= 0.7


def test_what_is_confirmed_is_beyond_the_bound(runs):
    confirmed = sum(len(run.confirmed) for run in runs)
    assert sum(run.false for run in runs) <= max(1, 0.1 * confirmed)


def test_held_out_scores_are_nearer_to_the_truth_than_those_of_the_search(runs):
    scores = curse(runs)
    if scores is not None:
        search, held, truth = scores
        assert abs(held - truth) < abs(search - truth)
