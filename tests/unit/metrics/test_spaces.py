"""Distance correlation and retrieval: properties, ties, refusals."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i import metrics

FEW = settings(max_examples=30, deadline=None)
SEEDS, SIZES = st.integers(0, 2**16), st.integers(5, 12)
BOTH = metrics.distance_correlation, metrics.corrected_distance_correlation


def two(seed, n):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 3))
    return a, np.tanh(a[:, :2]) + rng.normal(size=(n, 2))


@FEW
@given(SEEDS, SIZES)
def test_a_space_moved_turned_and_scaled_is_the_same_space(seed, n):
    a, b = two(seed, n)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    for measure in BOTH:
        value = measure(a, b)
        assert measure(5.0 + 1e-3 * a @ turn, b) == pytest.approx(value)
        assert measure(b, a) == pytest.approx(value)
        assert measure(a, 1e120 * a @ turn) == pytest.approx(1.0)
        order = np.random.default_rng(seed).permutation(n)
        assert measure(a[order], b[order]) == pytest.approx(value)


def test_the_corrected_one_is_right_on_average_where_nothing_is_shared():
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(size=(12, 20)), rng.normal(size=(12, 20))) for _ in range(300)]
    corrected = [metrics.corrected_distance_correlation(*pair) for pair in pairs]
    assert np.mean(corrected) == pytest.approx(0.0, abs=0.02)
    assert np.mean([metrics.distance_correlation(*pair) for pair in pairs]) > 0.9


@pytest.mark.parametrize("measure", BOTH)
@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ([[0.0], [1.0], [2.0], [3.0]], [[0.0], [1.0]], "4 and 2 rows"),
        ([[0.0]], [[1.0]], "a must have at least"),
        ([1.0, 2.0, 3.0, np.nan], [1.0, 2.0, 3.0, 4.0], r"a must be finite, got a\[3"),
        ([1.0, 2.0, 3.0, 4.0], [7.0, 7.0, 7.0, 7.0], "all rows of b are equal"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), r"a.shape=\(2, 2, 2\)"),
    ],
)
def test_refusals_of_correlations(measure, a, b, told):
    with pytest.raises(ValueError, match=told):
        measure(a, b)


def test_rows_that_are_equally_far_apart_vary_in_nothing():
    with pytest.raises(ValueError, match="equally far apart"):
        metrics.corrected_distance_correlation(np.eye(6), np.arange(6.0))


@pytest.mark.parametrize("images", [4, 9, 40])
def test_rounding_of_equal_distances_is_no_variation(images):
    turned, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(images, images)))
    for pair in ((turned + 3.0, np.arange(images)), (np.arange(images), turned + 3.0)):
        with pytest.raises(ValueError, match="equally far apart"):
            metrics.corrected_distance_correlation(*pair)


def test_small_differences_of_distances_are_variation():
    rows = np.eye(6) + 1e-6 * np.random.default_rng(0).normal(size=(6, 6))
    assert metrics.corrected_distance_correlation(rows, rows) == pytest.approx(1.0)


def test_of_equally_near_ones_each_counts_for_its_chance():
    features = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 2.0]]
    labels = ["a", "a", "b", "b", "b"]
    got = metrics.retrieval_precisions(features, labels, k=2)
    by_hand = [
        np.mean([labels[o] == labels[0] for o in order[:2]]) for order in permutations(range(1, 5))
    ]
    assert got[0] == pytest.approx(np.mean(by_hand)) == pytest.approx(0.25)
    assert metrics.average_precisions(features, labels)[0] == pytest.approx(0.25)


@FEW
@given(SEEDS, SIZES)
def test_retrieval_knows_neither_order_nor_length(seed, n):
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(2 * n, 3)), np.repeat(list("ab"), n)
    order, lengths = rng.permutation(2 * n), rng.uniform(0.1, 9.0, (2 * n, 1))
    for measure in (metrics.retrieval_precision, metrics.mean_average_precision):
        value = measure(features, labels)
        assert 0.0 <= value <= 1.0
        assert measure((features * lengths)[order], labels[order]) == pytest.approx(value)


@pytest.mark.parametrize(
    ("features", "labels", "k", "told"),
    [
        ([[1.0], [2.0]], ["a"], 1, "a value per image"),
        ([[1.0], [2.0], [3.0]], ["a", "a", "woodcut"], 1, "got 'woodcut' once"),
        ([[1.0], [0.0]], ["a", "a"], 1, "row of zeros"),
        ([[1.0], [2.0]], ["a", "a"], 2, r"k must lie in \[1, 1\], got k=2"),
        ([[1.0], [2.0]], ["a", "a"], 0, "got k=0"),
        ([1.0, 2.0], ["a", "a"], 1, "one row per image"),
    ],
)
def test_refusals_of_retrieval(features, labels, k, told):
    with pytest.raises(ValueError, match=told):
        metrics.retrieval_precision(features, labels, k)


def test_five_neighbours_count_where_no_number_is_asked_for():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    told = metrics.retrieval_precision(features, labels)
    assert told == metrics.retrieval_precision(features, labels, k=5)
    assert told != metrics.retrieval_precision(features, labels, k=6)
