"""Fast version: an interval of WALS needs images of both kinds."""

from __future__ import annotations

import pytest
from instruments import wals_holds

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("center", [False, True])
def test_an_interval_needs_images_of_both_kinds(center):
    assert wals_holds(100, 0.95, 100, center=center) >= 0.88
    # One image of the rarer kind, or none: what FEWEST_OF_EACH is about.
    assert wals_holds(20, 0.95, 100, center=center) <= 0.8
