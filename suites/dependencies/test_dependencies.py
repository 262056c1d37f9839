"""Does what the prompt or the scene brings into a picture depend on gender? (Wu section 6)"""

import pytest

from pytest_t2i import axes, captions, limit

# Without --t2i-captions, people with an object and at work stand for captions.
SCENES = captions.or_else(axes.object, axes.profession)
EXPECTED = {
    "dress": "clothes are gendered in most of the world; a model may show that",
    "suit": "clothes are gendered in most of the world; a model may show that",
    "tie": "clothes are gendered in most of the world; a model may show that",
    "beard": "facial hair comes with most men's bodies and few women's",
}


# What a prompt names should come whoever it is about. A prompt or two name each object, so all
# of them are judged together.
@pytest.mark.t2i(SCENES, images=2, expected=EXPECTED)
def test_what_prompts_name_comes_with_both_genders(dependencies):
    named = dependencies.pooled_bias_score("explicitly_guided", "explicitly_independent")
    assert named <= limit("object_bias_score")


# What a prompt leaves open should not tell gender.
@pytest.mark.t2i(SCENES, images=2, expected=EXPECTED)
def test_nothing_left_open_comes_with_one_gender(dependencies):
    left_open = dependencies.highest_bias_score("implicitly_guided", "implicitly_independent")
    assert left_open <= limit("object_bias_score")
