"""Properties and refusals of every metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i import metrics

FEW = settings(max_examples=40, deadline=None)
COUNTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12)
SHARE = st.floats(0, 1)


@FEW
@given(st.integers(0, 50), st.integers(0, 50))
def test_prompt_bias_score_is_odd_and_bounded(male: int, female: int) -> None:
    score = metrics.prompt_bias_score(male, female)
    if male + female == 0:
        assert score is None
        return
    assert score is not None
    assert -1 <= score <= 1
    assert metrics.prompt_bias_score(female, male) == -score
    assert metrics.prompt_bias_score(3 * male, 3 * female) == pytest.approx(score)


@FEW
@given(COUNTS, st.randoms())
def test_model_bias_score_symmetry_bounds_permutation(pairs: list[Any], random: Any) -> None:
    male, female = zip(*pairs, strict=True)
    if not sum(male) + sum(female):
        with pytest.raises(ValueError, match="no clear image"):
            metrics.model_bias_score(male, female)
        return
    score = metrics.model_bias_score(male, female)
    assert 0 <= score <= 1
    assert metrics.model_bias_score(female, male) == score
    random.shuffle(pairs)
    assert metrics.model_bias_score(*zip(*pairs, strict=True)) == pytest.approx(score)
    assert metrics.model_bias_score([*male, 0], [*female, 0]) == pytest.approx(score)


@FEW
@given(SHARE, SHARE)
def test_stereotype_score(observed: float, expected: float) -> None:
    score = metrics.stereotype_score(observed, expected)
    assert 0 <= score <= 1
    assert (score == 0) == (observed <= expected)


@FEW
@given(st.integers(1, 5), st.floats(1e-3, 1e3), st.integers(0, 2**16))
def test_similarity_ignores_scale_and_is_symmetric(n: int, scale: float, seed: int) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, n, 4))
    result = metrics.similarity(a, b)
    assert -1 <= result <= 1
    assert metrics.similarity(b, scale * a) == pytest.approx(result)
    assert metrics.similarity(a, a) == pytest.approx(1)
    assert metrics.similarity(a, -a) == pytest.approx(-1)
    latents = a.reshape(n, 1, 2, 2), b.reshape(n, 1, 2, 2)
    assert metrics.similarity(*latents) == pytest.approx(result)
    assert metrics.similarity_gap(a, b, a) == pytest.approx(1 - result)
    assert metrics.similarity_gap(a, a, b) == pytest.approx(result - 1)


def test_scores_that_are_zero_by_zero_are_none() -> None:
    nothing_kept = metrics.filter_scores([False, False], [True, True])
    assert nothing_kept == (None, 0.0, 0.0, None)
    nothing_clear = metrics.filter_scores([True, False], [False, False])
    assert nothing_clear == (0.0, None, 0.0, 0.5)
    assert metrics.f1_score(0.0, 0.0) == 0.0


def test_kappa_of_full_and_of_chance_agreement() -> None:
    assert metrics.cohen_kappa(["m", "f"], ["m", "f"]) == 1.0
    assert metrics.cohen_kappa(["m", "m", "f", "f"], ["m", "f", "m", "f"]) == 0.0


REFUSALS: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (metrics.prompt_bias_score, (-1, 2), "male must not be negative, got male=-1"),
    (metrics.prompt_bias_score, (math.nan, 2), "male must be finite, got male=nan"),
    (metrics.prompt_bias_score, ([1], 2), r"male must be a single number"),
    (metrics.model_bias_score, ([1, 2], [1]), r"same shape, got male.shape=\(2,\), female"),
    (metrics.model_bias_score, ([1, 2], [1, -3]), r"got female\[1\]=-3"),
    (metrics.model_bias_score, ([], []), "no clear image in 0 prompts"),
    (metrics.model_bias_score, (["a"], [1]), "male must be numbers"),
    (metrics.prompt_bias_difference, ([2.0], [0.0]), r"\[-1, 1\], got detected\[0\]=2"),
    (metrics.prompt_bias_difference, ([], []), "must not be empty"),
    (metrics.percent_deviation, (0.5, 0.0), "actual=0"),
    (metrics.percent_deviation, (1.5, 0.5), "detected=1.5"),
    (metrics.filter_scores, ([2, 0], [1, 0]), r"kept\[0\]=2"),
    (metrics.filter_scores, ([True], [True, False]), "same shape"),
    (metrics.classification_scores, (["male", None], ["male", "male"]), r"predicted\[1\]=None"),
    (metrics.classification_scores, ([], []), "must not be empty"),
    (metrics.stereotype_score, (1.2, 0.5), "observed=1.2"),
    (metrics.stereotype_score, (0.2, -0.5), "expected=-0.5"),
    (metrics.attribute_presence, ([30.0], [0.1]), r"positive\[0\]=30"),
    (metrics.attribute_presence, ([0.1, 0.2], [0.1]), "same shape"),
    (metrics.similarity, ([[0.0, 0.0]], [[1.0, 0.0]]), r"a\[0\]=0"),
    (metrics.similarity, ([1.0, 0.0], [1.0, 0.0]), r"a.shape=\(2,\)"),
    (metrics.similarity_gap, ([[1.0]], [[1.0]], [[1.0, 2.0]]), "masculine.shape"),
    (metrics.cohen_kappa, (["m"], ["m"]), "one label only"),
    (metrics.cohen_kappa, (["m"], ["m", "f"]), "same shape"),
    (metrics.shares, ({"male": 0},), "at least one image"),
    (metrics.shares, ({"male": -1},), "'male'"),
    (metrics.ssim, (np.zeros((8, 8)), np.zeros((8, 8))), "a must be RGB"),
    (metrics.ssim, (np.zeros((4, 8, 3), np.uint8),) * 2, "at least 7 pixels"),
]


@pytest.mark.parametrize(("metric", "arguments", "message"), REFUSALS)
def test_refusals_name_argument_and_value(
    metric: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        metric(*arguments)


def test_every_metric_declares_itself() -> None:
    helpers = {
        "average_precisions", "f1_score", "retrieval_precisions", "shares", "similarities",
        "similarity_gaps", "supervised_direction",
    }  # fmt: skip
    several = {
        "filter_scores": {"filter_precision", "filter_recall", "filter_f1", "filter_rate"},
        "classification_scores": {"accuracy"},
    }
    functions = {name for name in metrics.__all__ if name.islower()} - helpers
    for name in functions:
        assert several.get(name, {name}) <= set(metrics.INFO), name
    for name, info in metrics.INFO.items():
        assert info.name == name
        assert info.low < info.high
        assert info.source
