"""Records of groups that no run writes are refused, and those without prompts are drawn."""

from __future__ import annotations

import pytest

from pytest_t2i.audits.parity.record import GroupPrompt, GroupsRecord
from pytest_t2i.data import Interval

EVEN = Interval(0.0, 0.0, 0.1, 0.95, "exact", 20)


def test_images_with_a_label_have_counts():
    with pytest.raises(ValueError, match="counts of the images"):
        GroupPrompt("job-1", 20, {}, None)
    assert GroupPrompt("job-1", 0, {}, None).counts == {}


def test_a_distance_has_the_shares_that_it_is_of():
    with pytest.raises(ValueError, match="shares of the groups"):
        GroupsRecord("ages", {}, EVEN)
    assert GroupsRecord("ages", {}).distance is None
