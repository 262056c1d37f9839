"""A gap of paired shares: by enumeration it covers, and it has a width where nothing was seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_t2i import statistics

LEVEL = 0.95


def flags(count, n):
    return [k < count for k in range(n)]


def interval(alone, other, n, **how):
    """Of one prompt: pairs in which the first alone, and the second alone, shows it."""
    first = [k < alone for k in range(n)]
    second = [alone <= k < alone + other for k in range(n)]
    return statistics.paired_gap_interval([first], [second], level=LEVEL, **how)


def test_it_is_that_of_a_change_on_the_same_images():
    known, change = interval(10, 3, 100), statistics.paired_share_change(3, 10, 100, LEVEL)
    assert (known.low, known.estimate, known.high) == (change.low, change.estimate, change.high)


def test_pairs_in_which_both_show_it_say_nothing_of_the_gap():
    first, second = [flags(12, 20)], [flags(10, 20)]
    known = statistics.paired_gap_interval(first, second, level=LEVEL)
    assert (known.low, known.high) == (interval(2, 0, 20).low, interval(2, 0, 20).high)


@pytest.mark.parametrize("words", ["fixed", "sample"])
def test_where_nothing_was_seen_it_has_a_width(words):
    known = statistics.paired_gap_interval(
        [[False] * 4] * 5, [[False] * 4] * 5, level=LEVEL, words=words
    )
    assert known.estimate == 0.0
    assert known.low == -known.high < -0.1
    assert known.n == (20 if words == "fixed" else 5)


def test_exchanged_variants_turn_it_round():
    a, b = interval(6, 1, 20), interval(1, 6, 20)
    assert (a.low, a.estimate, a.high) == pytest.approx((-b.high, -b.estimate, -b.low))


def test_of_fixed_words_pairs_are_pooled_and_of_drawn_ones_prompts_count():
    first, second = [flags(20, 20), *[flags(0, 20)] * 9], [flags(0, 20)] * 10
    fixed, drawn = (
        statistics.paired_gap_interval(first, second, level=LEVEL, words=words)
        for words in ("fixed", "sample")
    )
    assert fixed.estimate == drawn.estimate == pytest.approx(0.1)
    assert (fixed.n, drawn.n) == (200, 10)
    assert fixed.low > 0.05
    assert drawn.low < 0.0
    assert drawn.high > 0.35


def test_a_single_prompt_is_taken_pair_by_pair():
    assert interval(5, 1, 20, words="sample") == interval(5, 1, 20)


def test_prompts_without_pairs_are_left_out():
    with_none = statistics.paired_gap_interval([[True], []], [[False], []], level=LEVEL)
    assert with_none.n == 1


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("shares", [(0.02, 0.0), (0.1, 0.1), (0.3, 0.05), (0.5, 0.5), (0.6, 0.15)])
def test_it_covers_by_enumeration(n, shares):
    p, q = shares
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            known = interval(b, c, n)
            rest = n - b - c
            ways = math.comb(n, b) * math.comb(n - b, c)
            chance = ways * p**b * q**c * (1.0 - p - q) ** rest
            covered += chance * (known.low - 1e-12 <= p - q <= known.high + 1e-12)
    assert covered >= LEVEL


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.3])
def test_p_values_err_no_more_often_than_they_say(bound):
    """At the edge of the limit, by enumeration over 12 pairs."""
    n, p, q = 12, bound + 0.1, 0.1
    beyond = within = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            first = [[k < b for k in range(n)]]
            second = [[b <= k < b + c for k in range(n)]]
            ways = math.comb(n, b) * math.comb(n - b, c)
            chance = ways * p**b * q**c * (1.0 - p - q) ** (n - b - c)
            if chance < 1e-9:
                continue
            found = (
                statistics.paired_gap_p_value(first, second, bound, alternative=side)
                for side in ("greater", "less")
            )
            is_beyond, is_within = (value <= 0.05 for value in found)
            beyond, within = beyond + chance * is_beyond, within + chance * is_within
    assert beyond <= 0.05
    assert within <= 0.05


def test_either_side_counts():
    women, men = [flags(18, 20)], [flags(0, 20)]
    one, other = (
        statistics.paired_gap_p_value(*pair, 0.3) for pair in ((women, men), (men, women))
    )
    assert one == other < 0.01


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ([], [], "at least one pair"),
        ([[]], [[]], "at least one pair"),
        ([[True]], [], "as many prompts, got 1 and 0"),
        ([[True]], [[True, False]], "same shape"),
        ([[2]], [[0]], r"first\[0\] must be True or False"),
        ([[0]], [[0.5]], r"second\[0\] must be True or False"),
    ],
)
def test_what_makes_no_pairs_is_refused(first, second, told):
    with pytest.raises(ValueError, match=told):
        statistics.paired_gap_interval(first, second, level=LEVEL)


@pytest.mark.parametrize("how", [{"words": "some"}, {"level": 1.0}, {"level": 0.0}])
def test_options_out_of_range_are_refused(how):
    with pytest.raises(ValueError, match=next(iter(how))):
        statistics.paired_gap_interval([[True]], [[False]], **({"level": LEVEL} | how))


def test_it_takes_arrays():
    shape = np.zeros((3, 4), bool)
    assert statistics.paired_gap_interval(shape, shape, level=LEVEL).n == 12
