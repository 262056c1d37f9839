"""A short version of the simulation of histories."""

from __future__ import annotations

import pytest
from history import WORLDS, delays, false_alarms

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("world", WORLDS)
def test_a_model_that_never_changes_rarely_seems_to(world):
    # At most 5 % in truth: 6 of 40 or more would come by chance in 1 of 70 runs of this test.
    assert false_alarms(world, images=10, prompts=30, repeats=40, seed=3) <= 5 / 40


def test_a_push_is_seen_within_a_few_runs():
    seen = delays("a fifth by 0.4", images=20, prompts=50, repeats=15, seed=4)
    assert sum(delay is not None and delay <= 3 for delay in seen) >= 10
