"""Fast version of whole_runs.py: what it tests errs in at most 5 % of runs."""

from __future__ import annotations

import pytest
from uncertainty import least
from whole_runs import company, everywhere, pooled


@pytest.mark.parametrize("kind", ["long tails", "skewed", "skewed the other way"])
def test_one_space_without_a_gap_is_enough_against_all(kind):
    false, found = everywhere(kind, 20, 4, 60)
    assert least(false) <= 0.05
    assert sum(found) > sum(false)


def test_objects_together_keep_their_level():
    fails, passes = pooled("six, in company", 20, 0.6, 60)
    assert least(fails) <= 0.05
    assert least(passes) <= 0.05
    assert least(company("20 common", 5, 40)) <= 0.05
