"""Do images match a reference's shares? Runs with --t2i-reference uniform, oasis or FILE."""

import pytest

from pytest_t2i import axes, limit

# The prompts must be those that the reference knows: with oasis, axes.nationality.
PEOPLE = axes.profession


@pytest.mark.t2i(PEOPLE)
def test_prompt_follows_the_reference(sample, reference):
    assert sample.total_variation_distance(reference) <= limit("total_variation_distance")


@pytest.mark.t2i(PEOPLE)
def test_model_follows_the_reference(samples, reference):
    bound = limit("total_variation_distance.model")
    assert samples.total_variation_distance(reference) <= bound
