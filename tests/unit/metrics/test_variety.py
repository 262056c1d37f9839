"""WALS: properties and refusals."""

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
