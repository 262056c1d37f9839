"""Keys of the thesis' three: what is refused, and what a picture's weight depends on."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_t2i import GenerationSettings, Request
from pytest_t2i.adapters.mitigations import load_mitigation
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.errors import ConfigurationError
from scipy.stats import beta, kstest

from pytest_t2i_mitigation.interpolation.mitigations import (
    PostAttentionInterpolation,
    TextInterpolation,
)

ALL = {"text-interpolation": TextInterpolation, "post": PostAttentionInterpolation}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("post:mode=both", "mode: expected single or path, got both"),
        ("post:weight=1.5", "weight: expected drawn or a number from 0 to 1, got 1.5"),
        ("post:weight=half", "weight: expected drawn or a number from 0 to 1, got half"),
        ("post:weight=nan", "weight: expected drawn or a number from 0 to 1, got nan"),
        ("post:k=4", "n: expected 3 to k=4, got 5"),
        ("post:n=2", "n: expected 3 to k=7, got 2"),
        ("post:k=7.5", "expected a whole number, got '7.5'"),
        ("post:alpha=0", "alpha: expected a number above 0, got 0"),
        ("post:beta=inf", "beta: expected a number above 0, got inf"),
        ("post:warm_up=0", "warm_up: expected a share above 0, up to 1, got 0"),
        ("post:warm_up=20", "warm_up: expected a share above 0, up to 1, got 20"),
        ("post:keep=maybe", "keep: expected no or yes, got maybe"),
        ("post:keep=yes", "keep: goes with mode=path"),
        ("text-interpolation:mode=path,keep=yes", "keep: goes with mode=path and the attention"),
        ("post:colour=red", "unknown key of mitigation 'post' 'colour'"),
    ],
)
def test_keys_that_make_no_sense_are_one_line(asked, told):
    with pytest.raises(ConfigurationError, match=told) as caught:
        load_mitigation(Registry("mitigation", ALL), asked)
    assert "\n" not in str(caught.value)


def test_a_warm_up_of_no_step_is_refused_and_says_what_would_do():
    with pytest.raises(ValueError, match=r"0\.2 of 4 steps comes to 0 steps.* at least 5 steps"):
        PostAttentionInterpolation().passes_with(GenerationSettings(steps=4))
    assert PostAttentionInterpolation().passes_with(GenerationSettings(steps=5)) == 1.4


@pytest.mark.parametrize(("share", "steps", "whole"), [(0.29, 100, 29), (0.2, 28, 5), (1.0, 4, 4)])
def test_the_warm_up_is_rounded_down_to_whole_steps(share, steps, whole):
    assert PostAttentionInterpolation(warm_up=share).steps_of(steps) == whole


def test_drawn_weights_follow_the_distribution_and_stay_the_same():
    cure = TextInterpolation(alpha=2.0, beta=4.0)
    asked = [Request("a nurse", seed) for seed in range(500)]
    weights = [cure.weight_of(one) for one in asked]
    assert weights == [cure.weight_of(one) for one in asked]
    assert kstest(weights, beta(2.0, 4.0).cdf).pvalue > 0.01
    others = [cure.weight_of(Request("a pilot", seed)) for seed in range(500)]
    assert abs(np.corrcoef(weights, others)[0, 1]) < 0.15


def test_a_weight_of_ones_own_is_taken_for_every_picture():
    cure = TextInterpolation(weight="0.25")
    assert {cure.weight_of(Request("a nurse", seed)) for seed in range(9)} == {0.25}


def test_only_a_path_asks_for_an_encoder():
    assert TextInterpolation().compares_by is None
    assert TextInterpolation(mode="path").compares_by == ""
    assert TextInterpolation(mode="path", encoder="clip:large").compares_by == "clip:large"
