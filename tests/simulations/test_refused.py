"""Fast version of refused.py: ordinary runs of ordinary size are seldom refused a verdict."""

from __future__ import annotations

import pytest
from refused import labels_refused, objects_refused
from uncertainty import least

TENTH = 0.1


@pytest.mark.parametrize("world", ["20 common", "Zipf, exponent 0.8", "log-normal"])
def test_ten_triplets_have_objects_to_judge(world):
    single, together = objects_refused(world, 10, 40)
    assert least(single) <= TENTH
    assert not any(together)
    assert sum(objects_refused(world, 3, 40)[0]) > sum(single)


def test_three_labels_in_ten_correct_groups():
    assert not any(labels_refused(50, 100))
    assert least(labels_refused(30, 100)) > TENTH
