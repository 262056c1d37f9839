"""Fast version of reruns.py: a user who follows the advice is wrong in 5 % at most."""

from __future__ import annotations

import pytest
from reruns import WORLDS, ended
from uncertainty import least


@pytest.mark.parametrize("world", WORLDS)
def test_going_on_as_proposed_keeps_the_level(world):
    assert all(least(side) <= 0.05 for side in ended(world, 300, sequential=True))


def test_more_images_until_decided_do_not():
    fail, passed = ended(WORLDS[-2], 300, sequential=False)
    assert max(least(fail), least(passed)) > 0.05
