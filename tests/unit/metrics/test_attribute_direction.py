"""The direction of an attribute: properties and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_t2i import metrics

FEW = settings(max_examples=40, deadline=None)
SEEDS, SIZES = st.integers(0, 2**16), st.integers(2, 9)
KERNELS = ("linear", "cosine", "laplacian", "poly", "rbf", "sigmoid")


def drawn(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@FEW
@given(SEEDS, SIZES, st.sampled_from(KERNELS))
@example(323, 2, "sigmoid")
def test_a_direction_points_towards_what_shows_it(seed, n, kernel):
    features = 0.3 * drawn(seed, 2 * n, 4)
    labels = np.arange(2 * n) % 2
    features[:, 2] += 3.0 * labels
    direction = metrics.supervised_direction(features, labels, kernel)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction[2] > 0.8
    turned = metrics.supervised_direction(features, 1 - labels, kernel)
    assert turned == pytest.approx(-direction)


@pytest.mark.parametrize(
    ("features", "labels", "kernel", "expected"),
    [
        ([[1.0], [2.0]], [1], "linear", "labels must have a value per image"),
        ([[1.0], [2.0]], [1, 1], "linear", "labels must hold both 0 and 1"),
        ([[1.0], [2.0]], [1, 2], "linear", "labels must be True or False"),
        ([[1.0], [1.0]], [1, 0], "linear", "the difference that the labels make must not be all"),
        ([[1.0], [2.0]], [1, 0], "cubic", "kernel must be one of cosine, laplacian, linear"),
        ([[1.0], [2.0]], [1, 0], lambda a, b: [1.0], "kernel must give"),
    ],
)
def test_a_direction_is_refused(features, labels, kernel, expected):
    with pytest.raises(ValueError, match=expected):
        metrics.supervised_direction(features, labels, kernel)
