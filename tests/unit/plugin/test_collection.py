"""What a test will compare, read from its source."""

from __future__ import annotations

import pytest

from pytest_t2i import limit
from pytest_t2i.plugin.collection import (
    Comparison,
    comparisons_in,
    limits_in,
)

OWN = 0.5


def plain(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")


def bounds(samples):
    assert samples.model_bias_score < limit("model_bias_score", 0.3), "too biased"
    assert samples.model_bias_score <= limit("model_bias_score.strict", bound=0.2)


def a_number(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")
    assert abs(sample.prompt_bias_score) <= 0.9


def a_name(sample):
    assert sample.prompt_bias_score <= limit("prompt_bias_score", OWN)


def a_variable(sample):
    score = sample.prompt_bias_score
    assert score <= limit("prompt_bias_score")


def another_use(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
    helper(samples)


def a_part(samples):
    for part in samples.by_axis().values():
        assert part.model_bias_score <= limit("model_bias_score")


def the_other_way(sample):
    assert sample.wals >= limit("wals")


def a_chain(sample):
    assert 0 <= abs(sample.prompt_bias_score) <= limit("prompt_bias_score")


def helper(samples):
    """Compares who knows what."""


at_most = limit


def several(samples):
    assert samples.model_bias_score <= limit("model_bias_score", OWN)
    assert samples.model_bias_score <= limit(bound=0.25, name="model_bias_score")
    for part in samples.by_axis().values():
        assert part.model_bias_score <= at_most("model_bias_score", -0.5, reason="so")
    assert samples.model_bias_score <= pytest.limit("a", 1)
    assert samples.model_bias_score <= limit("model_bias_score", OWN + 1)
    assert samples.model_bias_score <= limit(samples.name, 0.1)
    assert samples.model_bias_score <= limit("model_bias_score", True)


def test_bounds_are_read_wherever_they_stand():
    assert limits_in(bounds) == (("model_bias_score", 0.3), ("model_bias_score.strict", 0.2))
    assert limits_in(a_name) == (("prompt_bias_score", 0.5),)
    assert limits_in(len) == ()
    assert limits_in(plain) == (("prompt_bias_score", None),)
    own, quarter, negative = (("model_bias_score", bound) for bound in (0.5, 0.25, -0.5))
    # That True is no number is told by who checks the bounds.
    no_number = ("model_bias_score", True)
    assert set(limits_in(several)) == {own, quarter, negative, ("a", 1.0), no_number}


def a_parameter(samples, OWN):  # noqa: N803 - the name of the module's number
    assert samples.model_bias_score <= limit("model_bias_score", OWN)


def test_a_name_that_the_test_binds_itself_is_not_the_modules():
    assert limits_in(a_parameter) == ()


def test_plain_comparisons_are_read():
    assert comparisons_in(plain, "sample") == (
        Comparison("sample", "prompt_bias_score", True, "<=", "prompt_bias_score", None),
    )
    assert comparisons_in(bounds, "samples") == (
        Comparison("samples", "model_bias_score", False, "<", "model_bias_score", 0.3),
        Comparison("samples", "model_bias_score", False, "<=", "model_bias_score.strict", 0.2),
    )


@pytest.mark.parametrize(
    ("function", "fixture"),
    [
        (a_number, "sample"), (a_name, "sample"), (a_variable, "sample"), (a_part, "samples"),
        (another_use, "samples"), (the_other_way, "sample"), (a_chain, "sample"),
        (plain, "samples"), (len, "sample"),
    ],
)  # fmt: skip
def test_anything_else_is_not_foreseen(function, fixture):
    assert comparisons_in(function, fixture) == ()
