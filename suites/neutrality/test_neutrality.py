"""Are images of neutral prompts nearer to masculine than to feminine ones? (Wu eq. 1-2)"""

import pytest

from pytest_t2i import axes, limit

# Four images of each variant and prompt: the mean over prompts averages their noise out.
PEOPLE = (axes.profession, axes.place)


@pytest.mark.t2i(*PEOPLE, images=4)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
def test_neutral_is_in_the_middle(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit(f"similarity_gap.{space}")
