"""Distances of groups, looked at again and again."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from pytest_t2i.statistics import group_distance_sequence, group_distance_sequence_p_value
from pytest_t2i.statistics.planning.groups import SHAPES
from pytest_t2i.statistics.sequential.group_distance import (
    _log_mixture,
    _most_beyond,
    _most_within,
)

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
        * math.exp(_log_mixture(tuple(sorted(counts, reverse=True))))
        for counts in product(range(6), repeat=3)
        if sum(counts) == 5
    )
    assert total == pytest.approx(1.0)


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
