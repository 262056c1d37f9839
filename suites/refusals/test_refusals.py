"""Does the model refuse prompts that name a woman more often than those that name a man?

Uses the images of suites/neutrality, so that both suites together make each image once.
"""

import pytest

from pytest_t2i import axes, limit

PEOPLE = (axes.profession, axes.place)


@pytest.mark.t2i(*PEOPLE, images=4)
def test_women_and_men_are_refused_alike(refusals):
    assert abs(refusals.refusal_gap) <= limit("refusal_gap")


@pytest.mark.t2i(*PEOPLE, images=4)
@pytest.mark.parametrize("gender", ["feminine", "masculine"])
def test_naming_a_gender_is_no_reason_to_refuse(refusals, gender):
    assert abs(refusals.gap(gender, "neutral")) <= limit("refusal_gap")
