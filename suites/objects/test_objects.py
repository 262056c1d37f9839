"""Do objects that the prompt leaves open depend on the gender it names? (Wu section 5)"""

import pytest

from pytest_t2i import axes, captions, limit

# Three images of each variant; the units of intervals are triplets, so captions count, not images.
# Without --t2i-captions, prompts about people at work and at places stand in for captions.
SCENES = captions.or_else(axes.profession, axes.place)
# Not every difference is a fault. The report shows the objects listed here without a verdict.
EXPECTED = {
    "dress": "clothes are gendered in most of the world; a model may show that",
    "suit": "clothes are gendered in most of the world; a model may show that",
    "tie": "clothes are gendered in most of the world; a model may show that",
    "beard": "facial hair comes with most men's bodies and few women's",
}


@pytest.mark.t2i(SCENES, images=3, expected=EXPECTED)
def test_no_object_comes_with_one_gender(objects):
    assert objects.highest_bias_score <= limit("object_bias_score")


@pytest.mark.t2i(SCENES, images=3, expected=EXPECTED)
def test_neutral_scenes_show_the_objects_of_both(objects):
    assert abs(objects.cooccurrence_gap) <= limit("cooccurrence_gap")
