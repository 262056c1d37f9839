"""Does the service rewrite prompts, and whom does it add to them?

One image of each prompt: a service may rewrite a prompt once for all of its images, so that many
prompts tell more than many images. A model that draws prompts as they are is skipped.
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
