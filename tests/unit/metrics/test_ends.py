"""Ends of domains belong to them; what rounding leaves is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import metrics
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.vectors import singular

ROWS = np.random.default_rng(0).normal(size=(5, 3))
ALONG = [1.0, 0.0, 0.0]


def test_all_singular_values_or_the_largest_alone_may_count():
    assert metrics.wals(ROWS, ALONG, rank=3) == metrics.wals(ROWS, ALONG)
    _, vectors = singular(ROWS)
    assert metrics.wals(ROWS, ALONG, rank=1) == pytest.approx(abs(vectors[0, 0]))
    for rank in (0, 4):
        with pytest.raises(ValueError, match=r"rank must lie in \[1, 3\], got rank="):
            metrics.wals(ROWS, ALONG, rank=rank)


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_one_direction_have_one_singular_value(seed):
    rng = np.random.default_rng(seed)
    values, _ = singular(np.outer(rng.normal(size=60), rng.normal(size=40)))
    assert values[0] > 1.0
    assert not np.any(values[1:])


def test_rows_are_as_alike_as_can_be_to_themselves():
    rows = np.random.default_rng(1).normal(size=(300, 7))
    alike, opposite = metrics.similarities(rows, rows), metrics.similarities(rows, -rows)
    assert alike == pytest.approx(np.ones(300))
    assert np.all(alike <= 1.0)
    assert np.all(opposite >= -1.0)


def test_a_cosine_may_pass_one_by_rounding():
    beyond = 1.0 + 0.9e-5
    assert metrics.attribute_presence([beyond, -beyond], [-beyond, beyond]).tolist() == [
        True,
        False,
    ]
    for wrong in (1.0 + 1.1e-5, -1.0 - 1.1e-5):
        with pytest.raises(ValueError, match="positive"):
            metrics.attribute_presence([wrong], [0.0])


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (0.5, 2.0)])
def test_ends_lie_within_a_range_and_what_is_next_to_them_does_not(low, high):
    assert inputs.in_range("x", [low, high], low, high).tolist() == [low, high]
    for outside in (np.nextafter(low, -9.0), np.nextafter(high, 9.0)):
        with pytest.raises(ValueError, match="x must lie in"):
            inputs.in_range("x", outside, low, high)


def test_a_refusal_names_the_first_wrong_value_and_its_place():
    with pytest.raises(ValueError, match=r"got x\[1, 0\]=-2$"):
        inputs.counts("x", [[1, 2], [-2, -3]])
    with pytest.raises(ValueError, match=r"must be whole numbers, got x\[2\]=0.5"):
        inputs.whole_counts("x", [1, 2, 0.5])
    assert inputs.counts("x", [0.0, 0.5]).tolist() == [0.0, 0.5]


def test_a_reference_may_miss_one_by_rounding():
    counts = {"a": 1, "b": 1}
    near = metrics.total_variation_distance(counts, {"a": 0.5, "b": 0.5 + 0.9e-6})
    assert near == pytest.approx(0.0, abs=1e-6)
    for wrong in (0.5 + 1.1e-6, 0.5 - 1.1e-6):
        with pytest.raises(ValueError, match="must sum to 1"):
            metrics.total_variation_distance(counts, {"a": 0.5, "b": wrong})


def test_two_groups_two_raters_and_two_objects_are_enough():
    assert metrics.demographic_parity_difference({"a": 0.0, "b": 1.0}) == 1.0
    assert metrics.fleiss_kappa([[2, 0], [0, 2]]) == 1.0
    for ratings in ([[1, 0], [0, 1]], [[2, 0], [0, 3]]):
        with pytest.raises(ValueError, match="same two or more raters"):
            metrics.fleiss_kappa(ratings)
    for variants in (1, 4):
        with pytest.raises(ValueError, match="2 or 3 variants"):
            metrics.object_independence([[1, 2]] * variants)
    for variants in (2, 3):
        assert metrics.object_independence([[1, 2]] * variants).statistic == pytest.approx(0.0)
    with pytest.raises(ValueError, match="at least two objects that occur, got 1"):
        metrics.object_independence([[1, 0], [2, 0]])
    with pytest.raises(ValueError, match=r"every variant, got counts\[1\]=0"):
        metrics.object_independence([[1, 2], [0, 0]])


def test_one_prompt_of_a_gender_is_enough():
    # 3 of 1 prompt against 1 of 2: 3 / (3 + 1/2 * 1).
    assert metrics.object_bias_score(3, 1, 1, 2) == pytest.approx(6 / 7)
    assert metrics.object_bias_score(0.25, 0.25, 1, 1) == 0.5


def test_a_patch_is_weighed_by_its_part_of_all():
    # Norms 3 and 1, of all sqrt(10): the longer patch is alike, the shorter one opposite.
    a, b = [[3.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [0.0, -1.0]]
    assert metrics.split_product(a, b, "joint") == pytest.approx(0.9)
    assert metrics.split_product(a, [[-3.0, 0.0], [0.0, -1.0]], "joint") == pytest.approx(-0.1)
    assert metrics.split_product(a, b) == pytest.approx(1.0)


def test_pictures_that_share_nothing_differ_everywhere():
    black, white = (np.full((9, 9, 3), grey, dtype=np.uint8) for grey in (0, 255))
    assert metrics.diff_pix(black, black) == 0.0
    assert metrics.diff_pix(black, white) == 100.0
