"""Fast version of crowds.py: intervals cover, few verdicts are wrong, people are no units."""

from __future__ import annotations

import pytest
from crowds import BOUND, WORLDS, own_gaps_cover, runs_of, true_gap
from pytest_t2i import Outcome
from uncertainty import least

pytestmark = pytest.mark.slow
RUNS = 150


@pytest.fixture(scope="module")
def said():
    return {world.name: list(runs_of(world, 40, RUNS, seed=1)) for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_intervals_cover_and_few_verdicts_are_wrong(said, world):
    runs = said[world.name]
    assert least([not run.covered for run in runs]) <= 0.05
    wrong = Outcome.PASS if abs(true_gap(world)) > BOUND else Outcome.FAIL
    assert least([run.outcome is wrong for run in runs]) <= 0.05


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("images", [12, 40])
def test_gaps_within_pictures_are_covered(world, images):
    assert least([not held for held in own_gaps_cover(world, images, RUNS, seed=2)]) <= 0.05


def test_people_as_if_independent_do_not_cover(said):
    for runs in said.values():
        assert least([not run.covered_by_people for run in runs]) > 0.05
    at_the_limit = said["pictures of one gender alone, 70 % of men"]
    assert least([run.outcome_by_people is Outcome.FAIL for run in at_the_limit]) > 0.05


def test_a_fair_model_is_decided_with_forty_pictures(said):
    runs = said["fair, people correlate"]
    assert sum(run.outcome is Outcome.PASS for run in runs) > 0.6 * RUNS
