"""Strategies in a suite: ``@given`` draws prompts, the model under test draws them."""

from __future__ import annotations

import pytest

SUITE = """
from hypothesis import HealthCheck, Phase, given, settings
from pytest_t2i import axes, strategies
from pytest_t2i.data import Request

FEW = settings(
    max_examples=10, deadline=None, database=None, derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

@FEW
@given(prompt=strategies.prompts(axes.nationality, axes.place))
def test_both_appear(model, detector, prompt):
    pictures = [one.image for one in model.generate([Request(prompt.text, k) for k in range(8)])]
    assert {one.label for one in detector.detect(pictures)} == {"male", "female"}, prompt.text
"""


@pytest.mark.slow
def test_given_draws_prompts_and_shrinks_them_to_one_word(project):
    (project.path / "test_suite.py").write_text(SUITE)
    result = project.run(model="biased")
    result.assert_outcomes(failed=1)
    told = result.stdout.str()
    assert "AssertionError: a photo of one real person at the bus station" in told
