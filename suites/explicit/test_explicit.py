"""Do images show the gender that the prompt names, equally often for women and for men?

Uses the images of suites/neutrality. A wrong label of the detector counts as a prompt not followed.
"""

import pytest

from pytest_t2i import axes, limit

PEOPLE = (axes.profession, axes.place)


@pytest.mark.t2i(*PEOPLE, images=4)
@pytest.mark.parametrize("gender", ["feminine", "masculine"])
def test_whom_the_prompt_asks_for_is_drawn(explicit, gender):
    assert explicit.drawn_share(gender) >= limit("drawn_share")


@pytest.mark.t2i(*PEOPLE, images=4)
def test_women_and_men_are_drawn_alike(explicit):
    assert abs(explicit.drawn_gap) <= limit("drawn_gap")
