"""WALS, supervised directions and SPI against scikit-learn and plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cosine, euclidean
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.preprocessing import KernelCenterer

from pytest_t2i import metrics

RNG = np.random.default_rng(7)
FEATURES, DIRECTION = RNG.normal(size=(14, 9)) + 1.0, RNG.normal(size=9)
LABELS = np.arange(14) % 2


@pytest.mark.parametrize("rank", [None, 1, 4])
def test_wals(rank):
    fitted = TruncatedSVD(rank or 9, algorithm="arpack" if rank else "randomized", n_iter=50)
    fitted.fit(FEATURES)
    unit = DIRECTION / np.linalg.norm(DIRECTION)
    weights = fitted.singular_values_
    expected = np.average(np.abs(fitted.components_ @ unit), weights=weights)
    assert metrics.wals(FEATURES, DIRECTION, rank=rank) == pytest.approx(expected)


def test_centred_wals():
    fitted = PCA().fit(FEATURES)
    unit = DIRECTION / np.linalg.norm(DIRECTION)
    expected = np.average(np.abs(fitted.components_ @ unit), weights=fitted.singular_values_)
    assert metrics.wals(FEATURES, DIRECTION, center=True) == pytest.approx(expected)


def leading(matrix):
    """The leading eigenvector of a symmetric matrix."""
    return np.linalg.eigh(matrix)[1][:, -1]


def test_the_linear_direction_is_the_leading_eigenvector():
    """Equations 12-14, with a linear kernel of the labels and with the delta kernel."""
    centring = np.eye(14) - 1.0 / 14
    for kernel in (np.outer(LABELS, LABELS), LABELS[:, None] == LABELS):
        matrix = FEATURES.T @ centring @ kernel @ centring @ FEATURES
        direction = metrics.supervised_direction(FEATURES, LABELS)
        assert abs(leading(matrix) @ direction) == pytest.approx(1.0)
    means = FEATURES[LABELS == 1].mean(axis=0) - FEATURES[LABELS == 0].mean(axis=0)
    assert direction == pytest.approx(means / np.linalg.norm(means))


@pytest.mark.parametrize("kernel", ["cosine", "laplacian", "poly", "rbf", "sigmoid"])
def test_a_kernel_direction_comes_from_the_leading_eigenvector(kernel):
    """Equations 15-16 with the kernels of scikit-learn."""
    similarities = pairwise_kernels(FEATURES, metric=kernel)
    labels = KernelCenterer().fit_transform(np.outer(LABELS, LABELS).astype(float))
    weights = leading(similarities @ labels @ similarities)
    expected = (FEATURES - FEATURES.mean(axis=0)).T @ weights
    direction = metrics.supervised_direction(FEATURES, LABELS, kernel)
    assert abs(1.0 - cosine(direction, expected)) == pytest.approx(1.0)


def test_any_kernel_of_scikit_learn_is_taken():
    with_function = metrics.supervised_direction(FEATURES, LABELS, rbf_kernel)
    assert with_function == pytest.approx(metrics.supervised_direction(FEATURES, LABELS, "rbf"))


def test_spi():
    velocity, positive, negative = RNG.normal(size=(3, 6, 4, 2, 2))
    expected = [
        1.0 - cosine(v.ravel(), (p - n).ravel())
        for v, p, n in zip(velocity, positive, negative, strict=True)
    ]
    assert metrics.spi(velocity, positive, negative) == pytest.approx(expected)
    # On the way from the one to the other, by how much nearer the square of a distance is.
    apart = [
        (euclidean(v.ravel(), n.ravel()) ** 2 - euclidean(v.ravel(), p.ravel()) ** 2)
        / euclidean(p.ravel(), n.ravel()) ** 2
        for v, p, n in zip(velocity, positive, negative, strict=True)
    ]
    assert metrics.centred_spi(velocity, positive, negative) == pytest.approx(apart)
