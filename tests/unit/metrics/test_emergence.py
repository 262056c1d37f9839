"""SPI: properties and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_t2i import metrics

FEW = settings(max_examples=40, deadline=None)
SEEDS, SIZES = st.integers(0, 2**16), st.integers(2, 9)


def drawn(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


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
