"""The tests of the canary: exact by enumeration, and together within their level."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.statistics.canary import (
    lean_p_value,
    level_at,
    odd_p_value,
    odd_pictures,
    smallest_of,
)


def enumerated(before, now):
    """By all ways in which a prompt's pictures could be today's."""
    rows = np.hstack([before, now])
    drawn = now.shape[1]
    mean = drawn * rows.mean(axis=1).sum()
    sums = [
        sum(rows[i, list(places)].sum() for i, places in enumerate(chosen))
        for chosen in itertools.product(
            *[list(itertools.combinations(range(rows.shape[1]), drawn))] * len(rows)
        )
    ]
    return np.mean([abs(one - mean) >= abs(now.sum() - mean) - 1e-9 for one in sums])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("today", [1, 2])
def test_a_shift_is_judged_by_all_exchanges(seed, today):
    rng = np.random.default_rng(seed)
    before, now = rng.integers(-1, 2, (4, 2)), rng.integers(-1, 2, (4, today))
    assert lean_p_value(before, now) == pytest.approx(enumerated(before, now))


def test_pictures_that_show_the_same_shift_nothing():
    assert lean_p_value(np.ones((9, 2), int), np.ones((9, 1), int)) == 1.0


@pytest.mark.parametrize("prompts", [5, 20, 200])
def test_odd_pictures_are_binomial(prompts):
    for odd in (0, 1, prompts // 2, prompts):
        expected = stats.binom.sf(odd - 1, prompts, 1 / 3)
        assert odd_p_value(odd, prompts) == pytest.approx(expected, rel=1e-9)


def test_of_three_exchangeable_pictures_at_most_one_is_odd():
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b, c = rng.integers(0, 4, 3)
        triples = [(a, b, c), (b, c, a), (c, a, b)]
        seen = [odd_pictures([abs(x - y)], [(abs(x - z), abs(y - z))]) for x, y, z in triples]
        assert sum(one.odd for one in seen) <= 1
        assert {one.telling for one in seen} == {int(len({a, b, c}) > 1)}


def test_pictures_that_are_alike_tell_nothing():
    assert odd_pictures([0.0] * 9, [(0.0, 0.0)] * 9) == (0, 0)
    assert odd_pictures([0.0] * 9, [(5.0, 5.0)] * 4 + [(0.0, 0.0)] * 5) == (4, 4)


def test_all_looks_together_keep_the_level():
    assert math.fsum(level_at(look, 0.05) for look in range(1, 100_000)) == pytest.approx(
        0.05, 1e-4
    )
    assert level_at(1, 0.05) == 0.025


def test_several_tests_are_one():
    assert smallest_of([0.2, 0.01, 0.9]) == pytest.approx(0.03)
    assert smallest_of([0.6, 0.9]) == 1.0
