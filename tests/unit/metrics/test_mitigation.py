"""Metrics of mitigations, and distances between sets of images, by hand and by libraries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_t2i import metrics

STEPS = st.lists(st.floats(0.001, 10.0), min_size=1, max_size=12)


@given(STEPS)
def test_smoothness_is_one_minus_the_gini_coefficient(steps):
    # By the sorted form: G = 2 sum i d_(i) / (m sum d) - (m + 1) / m.
    ordered, m = sorted(steps), len(steps)
    gini = 2 * sum(i * d for i, d in enumerate(ordered, 1)) / (m * sum(ordered)) - (m + 1) / m
    assert metrics.smoothness(steps) == pytest.approx(1.0 - gini, abs=1e-9)
    assert metrics.consistency(steps) == pytest.approx(np.mean(steps))


@given(STEPS, st.floats(0.1, 100.0))
def test_smoothness_knows_no_unit(steps, factor):
    scaled = [factor * step for step in steps]
    assert metrics.smoothness(scaled) == pytest.approx(metrics.smoothness(steps))


def test_opposite_prompts_cancel_in_the_distance_alone():
    feminine, masculine = [0.9, 0.5, 0.7], [0.5, 0.9, 0.4]
    assert metrics.bias_distance(feminine, masculine) == pytest.approx(0.1)
    assert metrics.mean_absolute_gap(feminine, masculine) == pytest.approx(1.1 / 3)
    assert metrics.bias_distance(masculine, feminine) == pytest.approx(0.1)


def test_the_score_is_what_is_gained():
    assert metrics.bias_mitigation_score(0.25, 0.05) == pytest.approx(0.2)
    assert metrics.bias_mitigation_score(0.05, 0.25) == pytest.approx(-0.2)


def world(seed, n, d=6, shift=0.0):
    return np.random.default_rng(seed).normal(shift, 1.0, (n, d))


def test_frechet_distance_is_that_of_scipy():
    from scipy.linalg import sqrtm

    first, second = world(0, 40), world(1, 55, shift=0.5)
    covariances = [np.cov(rows, rowvar=False) for rows in (first, second)]
    shared = np.trace(sqrtm(covariances[0] @ covariances[1]).real)
    expected = np.sum((first.mean(0) - second.mean(0)) ** 2)
    expected += sum(map(np.trace, covariances)) - 2 * shared
    assert metrics.frechet_distance(first, second) == pytest.approx(expected)
    assert metrics.frechet_distance(first, first) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_kernel_distance_is_that_of_torchmetrics():
    kid = pytest.importorskip("torchmetrics.image.kid")
    torch = pytest.importorskip("torch")
    first, second = world(2, 30), world(3, 30, shift=0.4)
    kernels = [
        kid.poly_mmd(torch.tensor(first), torch.tensor(second)),
        kid.poly_mmd(torch.tensor(second), torch.tensor(first)),
    ]
    ours = metrics.kernel_distance(first, second)
    assert ours == pytest.approx(float(kernels[0]))
    assert ours == pytest.approx(float(kernels[1]))


def test_kernel_distance_is_not_biased_and_frechet_distance_is():
    pairs = [(world(k, 8), world(1000 + k, 8)) for k in range(400)]
    kernel = [metrics.kernel_distance(*pair) for pair in pairs]
    frechet = [metrics.frechet_distance(*pair) for pair in pairs]
    assert abs(np.mean(kernel)) < 4 * np.std(kernel) / np.sqrt(len(kernel))
    assert np.mean(frechet) > 20 * np.std(frechet) / np.sqrt(len(frechet))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: metrics.bias_distance([0.1], [0.1, 0.2]), "same shape"),
        (lambda: metrics.bias_distance([], []), "not be empty"),
        (lambda: metrics.bias_distance([1.2], [0.1]), r"to_feminine must lie in \[-1, 1\]"),
        (lambda: metrics.mean_absolute_gap([0.1], [-1.5]), "to_masculine"),
        (lambda: metrics.bias_mitigation_score(2.5, 0.0), "before must lie"),
        (lambda: metrics.bias_mitigation_score(0.0, -0.1), "after must lie"),
        (lambda: metrics.consistency([]), "not be empty"),
        (lambda: metrics.smoothness([-0.1]), "not be negative"),
        (lambda: metrics.smoothness([[0.1]]), "one-dimensional"),
        (lambda: metrics.frechet_distance([[1.0, 2.0]], [[1.0, 2.0]] * 2), "at least two images"),
        (lambda: metrics.kernel_distance([[1.0]] * 2, [[1.0, 2.0]] * 2), "rows of one length"),
        (lambda: metrics.kernel_distance([[1.0]] * 2, [[np.nan]] * 2), "must be finite"),
    ],
)
def test_bad_input_is_named(call, told):
    with pytest.raises(ValueError, match=told):
        call()
