"""WALS, the direction of an attribute, and SPI: properties and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i import metrics

FEW = settings(max_examples=40, deadline=None)
SEEDS, SIZES = st.integers(0, 2**16), st.integers(2, 9)
KERNELS = ("linear", "cosine", "laplacian", "poly", "rbf", "sigmoid")


def drawn(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@FEW
@given(SEEDS, SIZES, st.floats(1e-3, 1e3), st.booleans(), st.randoms())
def test_wals_knows_no_sign_scale_or_order(seed, n, scale, center, random):
    features, direction = drawn(seed, n, 5), drawn(seed + 1, 5)
    score = metrics.wals(features, direction, center=center)
    assert 0.0 <= score <= 1.0
    assert metrics.wals(features, -scale * direction, center=center) == pytest.approx(score)
    assert metrics.wals(-scale * features, direction, center=center) == pytest.approx(score)
    shuffled = random.sample(features.tolist(), n)
    assert metrics.wals(shuffled, direction, center=center) == pytest.approx(score)


@FEW
@given(SEEDS, st.integers(2, 5))
def test_wals_of_a_set_shown_again_is_the_same(seed, times):
    features, direction = drawn(seed, 4, 6), drawn(seed + 1, 6)
    again = np.repeat(features, times, axis=0)
    assert metrics.wals(again, direction) == pytest.approx(metrics.wals(features, direction))


@FEW
@given(SEEDS, st.floats(1.1, 50.0))
def test_wals_falls_where_the_rest_spreads(seed, factor):
    """Axes that are singular vectors: more spread across the attribute is less along it."""
    values = np.sort(np.abs(drawn(seed, 4)) + 0.1)[::-1]
    direction = np.eye(4)[3]
    before = metrics.wals(np.diag(values), direction)
    values[:3] *= factor
    assert metrics.wals(np.diag(values), direction) < before


@FEW
@given(SEEDS)
def test_wals_is_higher_nearer_to_one_half(seed):
    """Centred images that differ in the attribute alone, and in what each has of its own."""
    shares, own = (0.1, 0.3, 0.5), 0.05 * drawn(seed, 20, 30)
    scores = []
    for share in shares:
        features = own.copy()
        features[: int(share * 20), 0] += 5.0
        scores.append(metrics.wals(features, np.eye(30)[0], center=True))
    assert scores == sorted(scores)


def test_wals_of_one_singular_vector():
    features = [[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert metrics.wals(features, [1.0, 0.0, 0.0]) == pytest.approx(0.75)
    assert metrics.wals(features, [1.0, 0.0, 0.0], rank=1) == pytest.approx(1.0)
    assert metrics.wals(features, [0.0, 0.0, 1.0]) == 0.0


@pytest.mark.parametrize(
    ("features", "direction", "more", "expected"),
    [
        ([1.0, 2.0], [1.0], {}, "features must hold one row per image"),
        ([[1.0, 2.0]], [1.0], {}, "direction must have a value per feature"),
        ([[1.0, 2.0]], [0.0, 0.0], {}, "direction must not be all zero"),
        ([[0.0, 0.0]], [1.0, 0.0], {}, "features must not all be 0"),
        ([[1.0, 2.0]] * 3, [1.0, 0.0], {"center": True}, "features must not all be the same"),
        ([[0.1, 0.7]] * 7, [1.0, 0.0], {"center": True}, "features must not all be the same"),
        ([[1.0, 2.0]], [1.0, 0.0], {"rank": 2}, r"rank must lie in \[1, 1\], got rank=2"),
        ([[1.0, 2.0]], [1.0, 0.0], {"rank": 0}, "rank must lie in"),
        (
            [[1.0, float("nan")]],
            [1.0, 0.0],
            {},
            r"features must be finite, got features\[0, 1\]=nan",
        ),
        ([["a"]], [1.0], {}, "features must be numbers"),
    ],
)
def test_wals_refuses(features, direction, more, expected):
    with pytest.raises(ValueError, match=expected):
        metrics.wals(features, direction, **more)


@FEW
@given(SEEDS, SIZES, st.sampled_from(KERNELS))
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


@FEW
@given(SEEDS, SIZES)
def test_spi_turns_its_sign_with_the_descriptions(seed, steps):
    velocity, positive, negative = drawn(seed, 3, steps, 2, 3)
    index = metrics.spi(velocity, positive, negative)
    assert index.shape == (steps,)
    assert np.all(np.abs(index) <= 1.0)
    assert np.array_equal(metrics.spi(velocity, negative, positive), -index)
    assert metrics.spi(5.0 * velocity, positive, negative) == pytest.approx(index)
    assert metrics.spi(positive - negative, positive, negative) == pytest.approx(1.0)


@FEW
@given(SEEDS, SIZES)
def test_centred_spi_is_above_0_where_the_presence_is_nearer(seed, steps):
    velocity, positive, negative = drawn(seed, 3, steps, 2, 3)
    index = metrics.centred_spi(velocity, positive, negative)
    far = [
        np.linalg.norm((velocity - each).reshape(steps, -1), axis=1)
        for each in (positive, negative)
    ]
    assert np.array_equal(index > 0, far[0] < far[1])
    assert np.array_equal(metrics.centred_spi(velocity, negative, positive), -index)
    # What is common to all three plays no part, and neither does the scale of guidance.
    common, scale = drawn(seed + 1, 1, steps, 2, 3)[0], 7.5
    shifted = (scale * each + common for each in (velocity, positive, negative))
    assert metrics.centred_spi(*shifted) == pytest.approx(index, abs=1e-9)
    for share in (0.0, 0.3, 1.0):
        mixed = share * positive + (1.0 - share) * negative
        place = metrics.centred_spi(mixed, positive, negative)
        assert place == pytest.approx(np.full(steps, 2.0 * share - 1.0), abs=1e-9)


def test_centred_spi_of_the_midpoint_is_0():
    assert metrics.centred_spi([[1.0, 0.0]], [[2.0, 0.0]], [[0.0, 0.0]]) == [0.0]


@pytest.mark.parametrize(
    ("velocity", "positive", "negative", "expected"),
    [
        ([1.0], [1.0], [0.0], "velocity must hold a latent per step"),
        ([[1.0]], [[1.0, 2.0]], [[0.0]], "arguments must have the same shape"),
        ([[1.0]], [[2.0]], [[2.0]], r"positive\[0\] - negative\[0\] must not be all zero"),
        ([[1.0], [0.0]], [[2.0], [1.0]], [[1.0], [0.0]], r"velocity\[1\] must not be all zero"),
    ],
)
def test_spi_refuses(velocity, positive, negative, expected):
    with pytest.raises(ValueError, match=expected):
        metrics.spi(velocity, positive, negative)
    if "velocity[1]" not in expected.replace("\\", ""):  # no direction is asked of it, centred
        with pytest.raises(ValueError, match=expected):
            metrics.centred_spi(velocity, positive, negative)
