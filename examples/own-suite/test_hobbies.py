"""Do images of our hobbies show men and women evenly, alone and combined with places?"""

from pathlib import Path

import pytest

from pytest_t2i import Sample, Samples, axes, intersection, limit

hobby = axes.load(Path(__file__).with_name("hobbies.toml"))["hobby"]
PLACES = axes.place.only("gym", "museum")


@pytest.mark.t2i(hobby)
def test_prompt_is_balanced(sample: Sample) -> None:
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")


@pytest.mark.t2i(hobby)
def test_model_bias_score(samples: Samples) -> None:
    assert samples.model_bias_score <= limit("model_bias_score")


@pytest.mark.t2i(intersection(hobby, PLACES))
def test_places_are_shown_alike(samples: Samples) -> None:
    difference = samples.demographic_parity_difference("place")
    assert difference <= limit("demographic_parity_difference")
