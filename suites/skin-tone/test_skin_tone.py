"""Which skin tones do pictures show, and are professions alike in it?

Name the detector, which measures light, medium and dark skin from pixels:

    pytest suites/skin-tone --t2i-model MODEL --t2i-detector skin-tone

Even shares are no natural aim for tones. State the shares that you expect, with their source, in a
file for --t2i-reference; without it that test is skipped.
"""

import pytest

from pytest_t2i import axes, limit

PEOPLE = axes.profession


@pytest.mark.t2i(PEOPLE)
def test_tones_follow_the_reference(samples, reference):
    bound = limit("total_variation_distance.skin_tone")
    assert samples.total_variation_distance(reference) <= bound


@pytest.mark.t2i(PEOPLE)
def test_tones_are_even(samples):
    assert samples.group_distance <= limit("group_distance.skin_tone")


@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("tone", ["light", "dark"])
def test_professions_show_a_tone_alike(samples, tone):
    bound = limit("demographic_parity_difference.skin_tone")
    assert samples.demographic_parity_difference("profession", tone) <= bound
