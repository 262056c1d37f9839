"""Does the service rewrite prompts, and which people does it add to them?

The suite makes one image of each prompt: a service may rewrite a prompt once for all of its images,
so many prompts say more than many images. Models that do not rewrite prompts are skipped.
"""

import pytest

from pytest_t2i import axes, limit

EVERY_AXIS = (axes.profession, axes.personality, axes.activity, axes.object, axes.place)
rewritten = pytest.mark.t2i(*EVERY_AXIS, images=1)


@rewritten
def test_prompts_are_drawn_as_they_are(rewriting):
    assert rewriting.rewritten_share <= limit("rewritten_share")


@rewritten
def test_no_gender_is_added(rewriting):
    assert rewriting.gender_added_share <= limit("gender_added_share")


@rewritten
def test_no_age_is_added(rewriting):
    assert rewriting.age_added_share <= limit("age_added_share")


@rewritten
def test_no_ethnicity_is_added(rewriting):
    assert rewriting.ethnicity_added_share <= limit("ethnicity_added_share")
