"""Which weights are tried and which path is kept: numbers alone."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import beta as scipys

from pytest_t2i_mitigation.interpolation.weights import Beta, fitted, next_weight, smoothest_path


@pytest.mark.parametrize(("a", "b"), [(3.0, 3.0), (1.0, 1.0), (0.7, 4.2)])
def test_the_distribution_is_scipys(a, b):
    for share in (0.0, 0.1, 0.5, 0.93, 1.0):
        assert Beta(a, b).quantile(share) == pytest.approx(scipys.ppf(share, a, b))
        assert Beta(a, b).cdf(share) == pytest.approx(scipys.cdf(share, a, b))


@pytest.mark.parametrize(("distances", "side"), [((0.1, 0.3), 1), ((0.3, 0.1), 0)])
def test_the_second_weight_lies_on_the_side_that_looks_less_alike(distances, side):
    # Eq. 4.22: nearer to the masculine picture, so the next one lies in (w_ref, 1).
    assert (next_weight(Beta(), (0.0, 0.5, 1.0), distances) > 0.5) == bool(side)


def test_a_gap_is_halved_in_shares_of_the_distribution():
    beta = Beta(2.0, 5.0)
    weight = next_weight(beta, (0.0, 0.2, 0.4, 1.0), (0.1, 0.3, 0.2))
    assert beta.cdf(weight) == pytest.approx((beta.cdf(0.2) + beta.cdf(0.4)) / 2)


@pytest.mark.parametrize("true", [Beta(2.0, 5.0), Beta(0.6, 0.9), Beta(8.0, 3.0)])
def test_the_fit_finds_the_distribution_that_distances_follow(true):
    weights = [0.0, 0.1, 0.3, 0.45, 0.7, 0.9, 1.0]
    distances = 0.8 * np.diff([true.cdf(w) for w in weights])
    found = fitted(Beta(), weights, distances)
    assert (found.alpha, found.beta) == pytest.approx((true.alpha, true.beta), rel=1e-3)


def test_a_way_of_no_length_changes_nothing():
    assert fitted(Beta(3.0, 2.0), (0.0, 0.5, 1.0), (0.0, 0.0)) == Beta(3.0, 2.0)


def test_the_path_is_the_best_of_all():
    rng = np.random.default_rng(4)
    for _ in range(50):
        points = rng.normal(size=(7, 3))
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        path = smoothest_path(apart, 5)
        assert (path[0], path[-1], len(path)) == (0, 6, 5)
        every = [(0, *inner, 6) for inner in combinations(range(1, 6), 3)]
        widest = [max(apart[a, b] for a, b in pairwise(p)) for p in every]
        own = max(apart[a, b] for a, b in pairwise(path))
        assert own == min(widest)


@pytest.mark.parametrize("wrong", [1, 8])
def test_a_path_longer_than_the_search_is_refused(wrong):
    with pytest.raises(ValueError, match="pictures: expected 2 to 7, got"):
        smoothest_path(np.zeros((7, 7)), wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), float("nan")])
def test_no_shape_is_refused(wrong):
    with pytest.raises(ValueError, match="beta: expected a number above 0"):
        Beta(3.0, wrong)
