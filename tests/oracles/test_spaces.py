"""Distance correlation and retrieval against dcor and scikit-learn, to 1e-9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from pytest_t2i import metrics, statistics

pytestmark = pytest.mark.skipif(find_spec("dcor") is None, reason="dcor is not installed")
# Numba compiles dcor as it is imported, and has aborted a process that had torch loaded.
DCOR = """
import json, sys
import dcor, numpy as np

def said(a, b):
    return {
        "plain": float(dcor.distance_correlation(a, b)),
        "corrected": float(dcor.u_distance_correlation_sqr(a, b)),
        "p_value": float(dcor.independence.distance_correlation_t_test(a, b).pvalue),
    }

given = np.load(sys.argv[1])
print(json.dumps({n[2:]: said(given[n], given["b" + n[1:]]) for n in given if n[0] == "a"}))
"""
NEAR = {"rel": 0, "abs": 1e-9}
SPACES = [(9, 1, 1, 0.0), (30, 5, 3, 0.5), (80, 40, 60, 0.1), (25, 2, 2, 5.0)]
SHARED = (0.0, 0.6, 0.8)


def spaces(n, d, e, shared):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, d))
    return a, rng.normal(size=(n, e)) + shared * a[:, :1] ** 2


def many_dimensions(shared):
    # The t-test of Szekely and Rizzo 2013 holds where there are many.
    rng = np.random.default_rng(4)
    a = rng.normal(size=(30, 60))
    return a, shared * a + rng.normal(size=(30, 60))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """What dcor says of every pair, by one process."""
    pairs = {str(case): spaces(*case) for case in SPACES}
    pairs |= {str(shared): many_dimensions(shared) for shared in SHARED}
    file = tmp_path_factory.mktemp("dcor") / "spaces.npz"
    sides = {
        f"{side} {name}": pair[k] for name, pair in pairs.items() for k, side in enumerate("ab")
    }
    np.savez(file, **sides)
    command = [sys.executable, "-c", DCOR, str(file)]
    # Compiling takes longer than these few rows, and two processes share one cache of it.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("case", SPACES)
def test_distance_correlation(case, theirs):
    a, b = spaces(*case)
    said = theirs[str(case)]
    assert metrics.distance_correlation(a, b) == pytest.approx(said["plain"], **NEAR)
    corrected = metrics.corrected_distance_correlation(a, b)
    assert corrected == pytest.approx(said["corrected"], **NEAR)


@pytest.mark.slow
@pytest.mark.parametrize("shared", SHARED)
def test_permutation_p_value(shared, theirs):
    a, b = many_dimensions(shared)
    ours = statistics.distance_correlation_p_value(a, b, seed=0, permutations=1999)
    assert ours == pytest.approx(theirs[str(shared)]["p_value"], abs=0.03)


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
