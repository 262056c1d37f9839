"""Fast version of refusals.py: intervals cover, few verdicts are wrong, a refused word is found."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import WORLDS, covered, many, of_family, verdict
from uncertainty import least

from pytest_t2i.data import Outcome

pytestmark = pytest.mark.slow
SIZE = (10, 20)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("size", [(10, 4), SIZE])
def test_intervals_cover(world, size):
    missed = [not covered(flags, world.gap) for flags in many(world, size, 300, seed=1)]
    assert least(missed) <= 0.05


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_few_verdicts_are_wrong(world):
    bound = world.gap or 0.05
    made = [verdict(flags, bound) for flags in many(world, SIZE, 60, seed=3)]
    assert least([one is Outcome.FAIL for one in made]) <= 0.05
    if world.gap:
        assert least([one is Outcome.PASS for one in made]) <= 0.05


def test_a_refused_word_is_found_and_nobody_passes_unseen():
    (none,) = many(WORLDS[0], SIZE, 1)
    (one_word,) = many(WORLDS[3], SIZE, 1)
    assert verdict(none, 0.05) is Outcome.PASS
    assert verdict(one_word, 0.05) is Outcome.FAIL
    assert verdict((none[0][:1, :4], none[1][:1, :4]), 0.05) is Outcome.INCONCLUSIVE


def test_triplets_share_one_error_level():
    rows = of_family(40, seed=4)
    assert np.mean(rows["found"]) > 0.9
    assert np.mean(rows["share of wrong FAILs"]) <= 0.05
    assert least(rows["any FAIL if none differs"]) <= 0.05
