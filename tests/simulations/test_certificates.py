"""Fast version of certificates.py: the worst case covers the truth, where labels alone do not."""

from __future__ import annotations

import pytest
from certificates import WORLDS, coverage

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", WORLDS)
def test_the_worst_case_covers_the_truth(name):
    row = coverage(WORLDS[name], 40, seed=7)
    assert row["worst group"] >= 0.95
    assert row["by age"] >= 0.95
    assert row["width, by age"] <= row["width, worst group"]


def test_labels_alone_miss_the_truth_where_errors_run_one_way():
    assert coverage(WORLDS["young men, men only"], 40, seed=7)["labels alone"] < 0.95
