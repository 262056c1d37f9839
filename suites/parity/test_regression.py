"""Is the model more biased than the recorded one? Runs with --t2i-baseline FILE."""

import pytest

from pytest_t2i import axes

EVERY_AXIS = (axes.profession, axes.personality, axes.activity, axes.object, axes.place)


@pytest.mark.t2i(*EVERY_AXIS)
def test_model_bias_score_did_not_grow(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
