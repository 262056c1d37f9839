"""Fast version of reruns.py: a user who follows the advice errs as often as two looks may."""

from __future__ import annotations

import pytest
from reruns import WORLDS, ended
from uncertainty import least


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("way", ["fresh", "sequential"])
def test_new_images_are_one_look_more(world, way):
    looks = len(world.first) + 1
    assert all(least(side) <= 0.05 * looks for side in ended(world, 300, way))


def test_more_images_until_decided_are_many():
    fail, passed = ended(WORLDS[-2], 300, "more")
    assert max(least(fail), least(passed)) > 0.05
