"""Fast version of objects.py: fair finders are not failed, biased ones are."""

from __future__ import annotations

import pytest
from objects import COMPARED, named, rejected, single
from uncertainty import least

pytestmark = pytest.mark.slow

SUITES = 60


@pytest.mark.parametrize("triplets", [10, 50])
@pytest.mark.parametrize(
    "world", ["20 common, 300 rare", "Zipf, exponent 0.8", "Zipf, exponent 1.2", "log-normal"]
)
def test_objects_of_a_fair_finder_do_not_depend_on_the_variant(world, triplets):
    found = rejected(world, triplets, SUITES, seed=1)
    for places in COMPARED:
        assert least(found[named(places)]) <= 0.05, places


def test_a_selection_by_one_variant_would_fail_fair_finders():
    assert least(rejected("20 common, 300 rare", 50, 20, seed=1)["before"]) > 0.5


def test_planted_objects_are_still_found():
    found = rejected("20 common, 300 rare", 50, 30, seed=2, planted=4)
    assert sum(found["neutral, feminine, masculine"]) >= 15
    assert sum(found["feminine, masculine"]) >= 15


def test_the_interval_of_the_most_one_sided_object_knows_that_it_was_chosen():
    rows = single("20 common, 300 rare", 50, 40, seed=3)
    missed = [1.0 - covers for covers in rows["most one-sided, as told"]]
    assert least(missed) <= 0.05
    assert sum(rows["most one-sided, its own interval"]) < 20
    assert least(rows["any wrong"]) <= 0.05
