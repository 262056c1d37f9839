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


# What a prompt names should come whoever it is about; what it leaves open should not tell gender.
@pytest.mark.t2i(SCENES, images=2, expected=EXPECTED)
@pytest.mark.parametrize(
    "group",
    ["explicitly_guided", "implicitly_guided", "explicitly_independent", "implicitly_independent"],
)
def test_no_object_of_a_group_comes_with_one_gender(dependencies, group):
    assert dependencies.highest_bias_score(group) <= limit("object_bias_score")
