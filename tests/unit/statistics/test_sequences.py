"""What is looked at again and again keeps its promise at all looks together."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.statistics import sequences
from pytest_t2i.statistics.deprecated import look_level, model_bias_look, share_confidence_sequence
from pytest_t2i.statistics.planning import SHAPES
from pytest_t2i.statistics.sequences import (
    _log_group_mixture,
    _most_beyond,
    _most_within,
    bias_sequence_p_value,
    group_distance_sequence,
    group_distance_sequence_p_value,
    prompt_bias_sequence,
    stereotype_sequence,
    stereotype_sequence_p_value,
)

FEW = settings(max_examples=25, deadline=None)
RUNS, IMAGES = 300, 60
# Of 300 runs at 5 %, more than 27 have a chance of 1 in 1,000.
MOST_MISSES = 27


def paths(share: float, seed: int) -> np.ndarray:
    """Successes after each image, [runs, images]."""
    return np.cumsum(np.random.default_rng(seed).random((RUNS, IMAGES)) < share, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.5, 0.9, 1.0])
def test_a_share_is_covered_at_all_looks_together(share: float) -> None:
    missed = sum(
        any(share not in share_confidence_sequence(int(k), n, 0.95) for n, k in enumerate(path, 1))
        for path in paths(share, 1)
    )
    assert missed <= MOST_MISSES
    assert missed == 0 or share not in (0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [0.0, 0.3, 0.6])
def test_p_values_hold_at_any_time(bound: float) -> None:
    share = (1 + bound) / 2
    pairs = [list(enumerate(map(int, path), 1)) for path in paths(share, 2)]
    either = sum(
        any(bias_sequence_p_value(k, n - k, bound) <= 0.05 for n, k in path) for path in pairs
    )
    one_way = sum(
        any(stereotype_sequence_p_value(k, n, 0.5, share - 0.5) <= 0.05 for n, k in path)
        for path in pairs
    )
    assert max(either, one_way) <= MOST_MISSES


@pytest.mark.parametrize("bound", [0.0, 0.3, 0.6])
def test_the_mean_of_e_is_at_most_one(bound: float) -> None:
    k = np.arange(13)
    p = np.array([bias_sequence_p_value(int(i), int(12 - i), bound) for i in k])
    e = np.where(p < 1, 1 / p, 0.0)  # p stops at 1: e-values below 1 are left out
    for inside in np.linspace(0, bound, 5):
        assert float(np.sum(stats.binom.pmf(k, 12, (1 + inside) / 2) * e)) <= 1.0


@pytest.mark.slow
def test_looking_again_and_again_breaks_a_fixed_interval() -> None:
    missed = sum(
        any(0.5 not in statistics.clopper_pearson(int(k), n, 0.95) for n, k in enumerate(path, 1))
        for path in paths(0.5, 3)[:100]
    )
    assert missed > 10


@FEW
@given(st.integers(1, 200), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_share_sequence_holds_the_estimate_and_mirrors(
    n: int, data: st.DataObject, level: float
) -> None:
    k = data.draw(st.integers(0, n))
    entry = share_confidence_sequence(k, n, level)
    two = share_confidence_sequence(n - k, n, level)
    assert 0 <= entry.low <= entry.estimate <= entry.high <= 1
    assert entry.low < entry.high
    assert (entry.low, entry.high) == pytest.approx((1 - two.high, 1 - two.low), abs=1e-9)
    assert (entry.low == 0.0) == (k == 0)
    assert (entry.high == 1.0) == (k == n)


def test_a_look_at_the_model_is_its_interval() -> None:
    counts: Any = ([4, 4, 0, 4], [0, 0, 4, 0])
    options: Any = {"level": 0.99, "seed": 0}
    look = model_bias_look(*counts, **options)
    assert look == statistics.model_bias_interval(*counts, **options)


def test_looks_grow_and_share_out_the_error() -> None:
    for most in (1, 4, 5, 20, 33, 100):
        planned = sequences.looks(most)
        assert list(planned) == sorted(set(planned))
        assert planned[-1] == most
        spent = sum(1 - look_level(n, most, 0.95) for n in planned)
        assert spent == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sequences.looks(0), "images must be at least 1, got images=0"),
        (lambda: look_level(5, 20, 0.95), "one of the looks"),
        (lambda: look_level(4, 20, 1.0), "level must lie between 0 and 1"),
        (lambda: share_confidence_sequence(0, 0, 0.95), "no image is no evidence"),
        (lambda: share_confidence_sequence(3, 2, 0.95), "successes must not exceed n"),
        (lambda: prompt_bias_sequence(0, 0, 0.95), "no clear image"),
        (lambda: stereotype_sequence(1, 2, 1.5, 0.95), "expected"),
        (lambda: bias_sequence_p_value(1, 2, 1.5), "bound"),
    ],
)
def test_bad_input_is_told(call: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()  # type: ignore[operator]


GRID = [np.array([a, b, 60 - a - b]) / 60 for a, b in product(range(61), repeat=2) if a + b <= 60]
"""Shares of three groups."""


def named(counts):
    return {str(place): int(count) for place, count in enumerate(counts)}


def log_likelihood(counts, shares):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(np.where(np.array(counts) > 0, counts * np.log(shares), 0.0)))


@pytest.mark.parametrize("counts", [(9, 3, 0), (5, 4, 3), (20, 0, 0), (10, 9, 1), (4, 4, 4)])
@pytest.mark.parametrize("bound", [0.1, 0.3, 0.5])
def test_the_largest_likelihoods_are_those_of_a_grid(counts, bound):
    distances = [np.abs(shares - 1 / 3).sum() / 2 for shares in GRID]
    for largest, holds in (
        (_most_within, lambda d: d <= bound + 1e-9),
        (_most_beyond, lambda d: d >= bound - 1e-9),
    ):
        known = [
            log_likelihood(counts, shares)
            for shares, distance in zip(GRID, distances, strict=True)
            if holds(distance)
        ]
        # The grid may miss the best by a little, and never betters it.
        assert max(known) <= largest(counts, bound) + 1e-9
        assert largest(counts, bound) - max(known) < 0.2


def test_the_mixture_is_a_distribution_over_sequences():
    # All sequences of five images of three groups: one for each order of their counts.
    total = sum(
        math.factorial(5)
        / math.prod(map(math.factorial, counts))
        * math.exp(_log_group_mixture(tuple(sorted(counts, reverse=True))))
        for counts in product(range(6), repeat=3)
        if sum(counts) == 5
    )
    assert total == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "shape"), [(0.3, SHAPES[0]), (0.3, SHAPES[1]), (0.0, SHAPES[0])])
def test_error_levels_hold_over_all_looks(truth, shape):
    """With the bound at the truth, whoever looks after every fourth image errs in 5 % at most."""
    shares, runs, errs = shape(truth, 4), 100, 0
    sides = ("greater", "less") if truth else ("greater",)
    rng = np.random.default_rng(3)
    for _ in range(runs):
        seen = rng.choice(4, size=120, p=shares / shares.sum())
        looks = [named(np.bincount(seen[:n], minlength=4)) for n in range(2, 121, 4)]
        errs += any(
            group_distance_sequence_p_value(counts, truth, side) <= 0.05
            for counts in looks
            for side in sides
        )
    # Of 100 runs at 5 % eleven or more are seen once in 86 times; these are far fewer.
    assert errs <= 10


def test_p_values_and_ends_say_the_same():
    counts = named((30, 6, 4))
    interval = group_distance_sequence(counts, 0.95)
    assert group_distance_sequence_p_value(counts, interval.low) == pytest.approx(0.05, rel=1e-3)
    above = group_distance_sequence_p_value(counts, interval.high, "less")
    assert above == pytest.approx(0.05, rel=1e-3)


def test_a_group_alone_is_found_and_even_shares_pass_in_the_end():
    assert group_distance_sequence_p_value(named([40, 0, 0, 0, 0, 0, 0]), 0.4) < 0.001
    assert group_distance_sequence_p_value(named([25] * 7), 0.4, "less") < 0.05
    assert group_distance_sequence_p_value(named([5, 5, 4, 3, 2, 1, 0]), 0.4, "less") > 0.05


@pytest.mark.parametrize(
    ("counts", "problem"), [({"a": 0, "b": 0}, "no image"), ({"a": 3}, "two groups")]
)
def test_what_is_no_evidence_is_refused(counts, problem):
    with pytest.raises(ValueError, match=problem):
        group_distance_sequence(counts, 0.95)
    with pytest.raises(ValueError, match=problem):
        group_distance_sequence_p_value(counts, 0.3)
