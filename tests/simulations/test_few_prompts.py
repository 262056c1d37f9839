"""Fast versions of few_prompts.py and two_shares.py: verdicts at the truth keep their level."""

from __future__ import annotations

import pytest
from few_prompts import (
    CHANGES,
    KINDS,
    PLACES,
    UNEQUAL,
    changed,
    misplaced,
    repeated_model,
    repeated_prompt,
    unequal,
)
from two_shares import worst
from uncertainty import least


def holds(wrong):
    """Whether neither side is wrong in more than 5 %, as far as these runs show."""
    return all(least(side, 0.999) <= 0.05 for side in wrong)


@pytest.mark.slow
@pytest.mark.parametrize("world", UNEQUAL)
def test_prompts_of_few_images_among_others(world):
    assert holds(unequal(world, 100))


@pytest.mark.slow
@pytest.mark.parametrize("world", CHANGES)
def test_changes_of_few_prompts(world):
    assert holds(changed(world, 60, 100))


@pytest.mark.parametrize(
    "world", ["one at .2, at .4", "two even, both at .6", "twenty even, all at .3"]
)
def test_changes_of_few_images(world):
    assert holds(changed(world, 5, 300))


@pytest.mark.slow
@pytest.mark.parametrize("world", PLACES)
def test_places_of_close_models(world):
    assert holds([misplaced(world, 10)])


@pytest.mark.parametrize("kind", KINDS)
def test_equal_pictures(kind):
    assert holds(repeated_prompt(kind, 20, 400))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_equal_pictures_in_a_model(kind):
    assert holds(repeated_model(kind, 20, 100))


def test_two_shares_at_few_images():
    few = (0.0, 0.05, 0.3, 0.6, 0.9, 1.0)
    assert worst(5, 10, few)[0] <= 0.05
    assert worst(10, 10, few)[0] <= 0.05
