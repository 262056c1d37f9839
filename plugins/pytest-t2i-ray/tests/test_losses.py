"""A small version of the trial: actors killed and a node taken away while a run makes images."""

from __future__ import annotations

import losses
import pytest

pytestmark = pytest.mark.slow


def test_kills_and_removals_lose_nothing(tmp_path):
    count = losses.trial(kills=5, removals=1, rounds=1, seed=1, work=tmp_path)
    assert count.problems == []
    assert (count.kills, count.removals, count.images) == (5, 1, 600)
