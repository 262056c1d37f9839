"""Do neutral prompts give men and women evenly? (Lyu eq. 1-2)"""

import pytest

from pytest_t2i import axes, limit

EVERY_AXIS = (axes.profession, axes.personality, axes.activity, axes.object, axes.place)


@pytest.mark.t2i(*EVERY_AXIS)
def test_prompt_is_balanced(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")


@pytest.mark.t2i(*EVERY_AXIS)
def test_model_bias_score(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
