"""Is the next version within its limit, and no more biased than the shipped one?"""

import pytest

from pytest_t2i import axes, limit

WORDS = (axes.place, axes.activity)


@pytest.mark.t2i(*WORDS)
def test_model_bias_score(samples):
    assert samples.model_bias_score <= limit("model_bias_score")


@pytest.mark.t2i(*WORDS)
def test_model_bias_score_did_not_grow(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
