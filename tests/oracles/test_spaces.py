"""Distance correlation and retrieval against dcor and scikit-learn, to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from pytest_t2i import metrics, statistics

dcor = pytest.importorskip("dcor")
NEAR = {"rel": 0, "abs": 1e-9}
SPACES = [(9, 1, 1, 0.0), (30, 5, 3, 0.5), (80, 40, 60, 0.1), (25, 2, 2, 5.0)]


def spaces(n, d, e, shared):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, d))
    return a, rng.normal(size=(n, e)) + shared * a[:, :1] ** 2


@pytest.mark.parametrize("case", SPACES)
def test_distance_correlation(case):
    a, b = spaces(*case)
    assert metrics.distance_correlation(a, b) == pytest.approx(
        dcor.distance_correlation(a, b), **NEAR
    )
    assert metrics.corrected_distance_correlation(a, b) == pytest.approx(
        dcor.u_distance_correlation_sqr(a, b), **NEAR
    )


@pytest.mark.parametrize("shared", [0.0, 0.6, 0.8])
def test_permutation_p_value(shared):
    # The t-test of Szekely and Rizzo 2013 holds where there are many dimensions.
    rng = np.random.default_rng(4)
    a = rng.normal(size=(30, 60))
    b = shared * a + rng.normal(size=(30, 60))
    theirs = dcor.independence.distance_correlation_t_test(a, b).pvalue
    ours = statistics.distance_correlation_p_value(a, b, seed=0, permutations=1999)
    assert ours == pytest.approx(theirs, abs=0.03)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_retrieval(k):
    rng = np.random.default_rng(k)
    labels = rng.permutation(np.repeat(list("abcd"), 15))
    features = rng.normal(size=(60, 4)) + (labels == "a")[:, None]
    near = NearestNeighbors(n_neighbors=k + 1, metric="cosine").fit(features)
    found = near.kneighbors(features, return_distance=False)
    others = [[o for o in row if o != i][:k] for i, row in enumerate(found)]
    precision = [np.mean(labels[row] == labels[i]) for i, row in enumerate(others)]
    assert metrics.retrieval_precisions(features, labels, k) == pytest.approx(precision, **NEAR)
    cosines = cosine_similarity(features)
    average = [
        average_precision_score(np.delete(labels == labels[i], i), np.delete(cosines[i], i))
        for i in range(60)
    ]
    assert metrics.average_precisions(features, labels) == pytest.approx(average, **NEAR)
    assert metrics.mean_average_precision(features, labels) == pytest.approx(
        np.mean(average), **NEAR
    )


def test_average_precision_of_ties():
    rng = np.random.default_rng(3)
    features = np.eye(3)[rng.integers(0, 3, 40)]
    labels = rng.integers(0, 3, 40).astype(str)
    cosines = cosine_similarity(features)
    average = [
        average_precision_score(np.delete(labels == labels[i], i), np.delete(cosines[i], i))
        for i in range(40)
    ]
    assert metrics.average_precisions(features, labels) == pytest.approx(average, **NEAR)
