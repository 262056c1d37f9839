"""Do objects that the prompt names or the scene implies depend on gender? (Wu section 6)"""

import pytest

from pytest_t2i import axes, captions, limit

# Without --t2i-captions, prompts about people with an object and at work stand in for captions.
SCENES = captions.or_else(axes.object, axes.profession)
EXPECTED = {
    "dress": "clothes are gendered in most of the world; a model may show that",
    "suit": "clothes are gendered in most of the world; a model may show that",
    "tie": "clothes are gendered in most of the world; a model may show that",
    "beard": "facial hair comes with most men's bodies and few women's",
}


# Objects that a prompt names should be shown with either gender. Only a prompt or two name each
# object, so all objects are judged together.
@pytest.mark.t2i(SCENES, images=2, expected=EXPECTED)
def test_what_prompts_name_comes_with_both_genders(dependencies):
    named = dependencies.pooled_bias_score("explicitly_guided", "explicitly_independent")
    assert named <= limit("object_bias_score")


# Objects that a prompt leaves open should not depend on gender.
@pytest.mark.t2i(SCENES, images=2, expected=EXPECTED)
def test_nothing_left_open_comes_with_one_gender(dependencies):
    left_open = dependencies.highest_bias_score("implicitly_guided", "implicitly_independent")
    assert left_open <= limit("object_bias_score")
