"""Metrics of objects: bounds, symmetry, refusals that name the value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pytest_t2i import metrics, statistics
from pytest_t2i.statistics.objects import object_bias_p_values

COUNT = st.integers(0, 50)
TABLES = arrays.arrays(
    np.int64, st.tuples(st.integers(2, 3), st.integers(2, 6)), elements=st.integers(1, 30)
)
MASKS = arrays.arrays(np.bool_, (5, 4))


@given(COUNT, COUNT, st.integers(1, 99), st.integers(1, 99))
def test_bias_score_and_its_mirror_image_sum_to_one(men, women, n_men, n_women):
    score = metrics.object_bias_score(men, women, n_men, n_women)
    mirrored = metrics.object_bias_score(women, men, n_women, n_men)
    assert (score is None) == (men + women == 0)
    if score is not None:
        assert 0.0 <= score <= 1.0
        assert score + mirrored == pytest.approx(1.0)


def test_bias_score_weighs_by_prompts():
    assert metrics.object_bias_score(10, 20, 100, 200) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0, 1, 1), "masculine=-1"),
        ((1, 0, 0, 1), "n_masculine=0"),
        ((1, 0, 1, 0), "n_feminine=0"),
    ],
)
def test_bias_score_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.object_bias_score(*arguments)


@given(TABLES)
def test_independence_does_not_depend_on_the_order_of_objects(table):
    here = metrics.object_independence(table)
    there = metrics.object_independence(table[:, ::-1])
    assert here == pytest.approx(there)
    assert here.statistic >= 0.0
    assert 0.0 <= here.p_value <= 1.0


def test_independence_leaves_out_what_never_occurs():
    with_empty = metrics.object_independence([[3, 0, 5], [1, 0, 9]])
    assert with_empty == metrics.object_independence([[3, 5], [1, 9]])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 2]], r"counts.shape=\(1, 2\)"),
        ([[1, 0], [2, 0]], "at least two objects"),
        ([[1, 2], [0, 0]], r"counts\[1\]=0"),
        ([[1, -2], [0, 1]], r"counts\[0, 1\]=-2"),
    ],
)
def test_independence_refuses(counts, message):
    with pytest.raises(ValueError, match=message):
        metrics.object_independence(counts)


@given(arrays.arrays(np.int64, (4, 3), elements=st.integers(1, 9)))
def test_cooccurrence_of_the_same_is_one(counts):
    assert metrics.cooccurrence_similarity(counts, 2 * counts) == pytest.approx(1.0)


def test_cooccurrence_refuses_an_image_without_an_object():
    with pytest.raises(ValueError, match=r"a\[1\]=0"):
        metrics.cooccurrence_similarity([[1, 0], [0, 0]], [[1, 0], [1, 0]])


@given(MASKS, MASKS)
def test_coverage_is_a_share(region, mask):
    if not region.any():
        with pytest.raises(ValueError, match="at least one pixel"):
            metrics.coverage(region, mask)
        return
    share = metrics.coverage(region, mask)
    assert share + metrics.coverage(region, ~mask) == pytest.approx(1.0)


def test_coverage_refuses_masks_of_another_size():
    with pytest.raises(ValueError, match=r"region.shape=\(2, 2\), mask.shape=\(4, 4\)"):
        metrics.coverage(np.ones((2, 2)), np.ones((4, 4)))


def test_a_picture_differs_from_itself_nowhere():
    picture = np.random.default_rng(0).integers(0, 256, (24, 20, 3), np.uint8)
    assert metrics.diff_pix(picture, picture) == 0.0
    other = np.random.default_rng(1).integers(0, 256, (24, 20, 3), np.uint8)
    assert 0.0 < metrics.diff_pix(picture, other) <= 100.0


def test_split_product_is_the_likest_patch():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 9, 5))
    assert metrics.split_product(a, b) == pytest.approx(metrics.similarities(a, b).max())
    joint = max((a / np.linalg.norm(a) * (b / np.linalg.norm(b))).sum(axis=1))
    assert metrics.split_product(a, b, norm="joint") == pytest.approx(joint)
    with pytest.raises(ValueError, match="norm='all'"):
        metrics.split_product(a, b, norm="all")


def test_objects_that_do_not_occur_have_no_score():
    none = statistics.object_bias_intervals([[0, 1], [0, 1]], [[0, 0], [0, 0]], level=0.95)
    assert none[0] is None
    assert none[1].estimate == 1.0
    assert none[1].low < 1.0


def test_intervals_and_p_values_take_a_mirror_image():
    men, women = np.random.default_rng(3).integers(0, 3, (2, 30, 4))
    here = statistics.object_bias_intervals(men, women, level=0.9)
    there = statistics.object_bias_intervals(women, men, level=0.9)
    for one, other in zip(here, there, strict=True):
        assert one.estimate == pytest.approx(1.0 - other.estimate)
        assert one.low == pytest.approx(1.0 - other.high)
    p_values = [object_bias_p_values(*pair, 0.6, seed=1) for pair in ((men, women), (women, men))]
    assert p_values[0] == pytest.approx(p_values[1], abs=0.02)


@pytest.mark.parametrize("bound", [0.4, 1.1])
def test_bounds_are_of_the_folded_score(bound):
    with pytest.raises(ValueError, match="bound must lie in"):
        object_bias_p_values([[1], [0]], [[0], [1]], bound, seed=0)
