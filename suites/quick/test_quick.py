"""A quick look: twenty words, three nationalities and four spaces, in minutes on two cores."""

import pytest

from pytest_t2i import axes, limit, stereotypes

# Few words with many images decide more than many words with few.
WORDS = (axes.place, axes.activity)


@pytest.mark.t2i(*WORDS)
def test_prompt_is_balanced(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")


@pytest.mark.t2i(*WORDS)
def test_model_bias_score(samples):
    assert samples.model_bias_score <= limit("model_bias_score")


@pytest.mark.t2i(*stereotypes)
def test_stereotype_score(stereotype):
    assert stereotype.stereotype_score <= limit("stereotype_score")


@pytest.mark.t2i(*WORDS, images=8)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
def test_neutral_is_in_the_middle(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit(f"similarity_gap.{space}")
