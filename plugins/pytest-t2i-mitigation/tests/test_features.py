"""The Vendi score by which pictures that collapsed are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from scipy.stats import entropy

from pytest_t2i_mitigation.mitigated.features import _vendi_score, unit, variety

FEW = settings(max_examples=40, deadline=None)
SEEDS, SIZES = st.integers(0, 2**16), st.integers(2, 9)


def drawn(seed, *shape):
    return unit(np.random.default_rng(seed).normal(size=shape))


@FEW
@given(SEEDS, SIZES, SIZES)
def test_it_is_the_entropy_of_the_eigenvalues_of_the_kernel(seed, n, d):
    rows = drawn(seed, n, d)
    eigenvalues = np.abs(np.linalg.eigvals(rows @ rows.T / n))
    assert _vendi_score(rows) == pytest.approx(np.exp(entropy(eigenvalues)), rel=1e-6)


def test_it_is_von_neumanns_entropy():
    rows = drawn(3, 5, 7)
    density = rows @ rows.T / 5
    entropy_matrix = -density @ logm(density)
    assert _vendi_score(rows) == pytest.approx(np.exp(np.trace(entropy_matrix)).real)
    assert np.allclose(expm(logm(density)), density)


@FEW
@given(SEEDS, SIZES, st.integers(2, 5), st.randoms())
def test_copies_and_order_play_no_part(seed, n, times, random):
    rows = drawn(seed, n, 5)
    score = _vendi_score(rows)
    assert 1.0 <= score <= n
    assert _vendi_score(np.repeat(rows, times, axis=0)) == pytest.approx(score)
    assert _vendi_score(np.array(random.sample(rows.tolist(), n))) == pytest.approx(score)


@FEW
@given(SEEDS)
def test_few_pictures_shown_often_have_less_than_as_many_different_ones(seed):
    rows = unit(np.random.default_rng(seed).normal(size=(100, 40)) + 0.3)
    often = np.repeat(rows[:10], 10, axis=0)
    assert _vendi_score(often) < _vendi_score(rows) - 1.0


def test_its_ends():
    assert _vendi_score(np.eye(6)) == pytest.approx(6.0)
    assert _vendi_score(unit(np.ones((6, 4)))) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="row of zeros"):
        _vendi_score(np.array([[0.0, 0.0], [1.0, 0.0]]))


def test_each_picture_is_left_out_in_turn():
    found = variety(np.eye(4))
    assert found.all == pytest.approx(4.0)
    assert found.without == pytest.approx([3.0] * 4)
