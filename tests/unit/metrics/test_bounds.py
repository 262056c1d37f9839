"""Results stay within their bounds, whatever rounding does."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import metrics
from pytest_t2i.metrics.vectors import unit

SEEDS = range(100)


def features(seed, rows=1):
    return np.random.default_rng(seed).normal(size=(rows, 7))


def test_a_product_of_equal_or_opposite_patches_is_at_most_one():
    for patch in map(features, SEEDS):
        for other, product in ((patch, 1.0), (-patch, -1.0)):
            result = metrics.split_product(patch, other, "joint")
            assert result == pytest.approx(product)
            assert -1.0 <= result <= 1.0


def test_wals_of_one_image_along_itself_is_at_most_one():
    for image in map(features, SEEDS):
        score = metrics.wals(image, image[0])
        assert score == pytest.approx(1.0)
        assert score <= 1.0


def test_cosines_of_opposite_latents_are_at_least_minus_one():
    for latents in (features(seed, rows=3) for seed in SEEDS):
        still = np.zeros_like(latents)
        for positive, negative, cosine in ((latents, still, 1.0), (still, latents, -1.0)):
            cosines = metrics.spi(latents, positive, negative)
            assert cosines == pytest.approx([cosine] * 3)
            assert np.all(np.abs(cosines) <= 1.0)


@pytest.mark.parametrize("length", [1e-200, 1.0, 1e200])
def test_a_direction_may_be_tiny_or_huge(length):
    assert unit("direction", length * np.array([3.0, -4.0])) == pytest.approx([0.6, -0.8])


def test_seven_pixels_a_side_are_enough():
    grey = np.full((7, 7, 3), 9, dtype=np.uint8)
    assert metrics.ssim(grey, grey) == 1.0
    with pytest.raises(ValueError, match="at least 7 pixels a side"):
        metrics.ssim(grey[:6], grey[:6])
    with pytest.raises(ValueError, match="at least 7 pixels a side"):
        metrics.ssim(grey[:, :6], grey[:, :6])


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_f1_of_equal_precision_and_recall_is_both(share):
    assert metrics.f1_score(share, share) == share


def test_as_near_to_either_is_no_attribute():
    assert metrics.attribute_presence([0.5, 0.6], [0.5, 0.5]).tolist() == [False, True]


def test_a_direction_by_cosines_does_not_depend_on_length():
    rows, labels = features(0, rows=8), [0, 1] * 4
    long, short = (
        metrics.supervised_direction(scale * rows, labels, kernel="cosine") for scale in (1.0, 0.01)
    )
    assert short == pytest.approx(long)
