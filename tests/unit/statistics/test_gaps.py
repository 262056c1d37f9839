"""A gap of paired shares: by enumeration it covers, and it has a width where nothing was seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import ndimage

from pytest_t2i import metrics, statistics
from pytest_t2i.statistics import gaps
from pytest_t2i.statistics.detectors import paired_share_change
from pytest_t2i.statistics.gaps import (
    paired_gap_interval,
    paired_gap_p_value,
    parity_difference_interval,
    parity_difference_p_value,
    share_difference_p_value,
)

LEVEL = 0.95


def flags(count, n):
    return [k < count for k in range(n)]


def interval(alone, other, n, **how):
    """Of one prompt: pairs in which the first alone, and the second alone, shows it."""
    first = [k < alone for k in range(n)]
    second = [alone <= k < alone + other for k in range(n)]
    return paired_gap_interval([first], [second], level=LEVEL, **how)


def test_it_is_that_of_a_change_on_the_same_images():
    known, change = interval(10, 3, 100), paired_share_change(3, 10, 100, LEVEL)
    assert (known.low, known.estimate, known.high) == (change.low, change.estimate, change.high)


def test_pairs_in_which_both_show_it_say_nothing_of_the_gap():
    first, second = [flags(12, 20)], [flags(10, 20)]
    known = paired_gap_interval(first, second, level=LEVEL)
    assert (known.low, known.high) == (interval(2, 0, 20).low, interval(2, 0, 20).high)


def test_where_nothing_was_seen_it_has_a_width():
    known = paired_gap_interval([[False] * 4] * 5, [[False] * 4] * 5, level=LEVEL)
    assert known.estimate == 0.0
    assert known.low == -known.high < -0.1
    assert known.n == 20


def test_exchanged_variants_turn_it_round():
    a, b = interval(6, 1, 20), interval(1, 6, 20)
    assert (a.low, a.estimate, a.high) == pytest.approx((-b.high, -b.estimate, -b.low))


def test_prompts_without_pairs_are_left_out():
    with_none = paired_gap_interval([[True], []], [[False], []], level=LEVEL)
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


@pytest.mark.slow
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
                paired_gap_p_value(first, second, bound, alternative=side)
                for side in ("greater", "less")
            )
            is_beyond, is_within = (value <= 0.05 for value in found)
            beyond, within = beyond + chance * is_beyond, within + chance * is_within
    assert beyond <= 0.05
    assert within <= 0.05


def test_either_side_counts():
    women, men = [flags(18, 20)], [flags(0, 20)]
    one, other = (paired_gap_p_value(*pair, 0.3) for pair in ((women, men), (men, women)))
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
        paired_gap_interval(first, second, level=LEVEL)


@pytest.mark.parametrize("how", [{"level": 1.0}, {"level": 0.0}])
def test_options_out_of_range_are_refused(how):
    with pytest.raises(ValueError, match=next(iter(how))):
        paired_gap_interval([[True]], [[False]], **({"level": LEVEL} | how))


def test_it_takes_arrays():
    shape = np.zeros((3, 4), bool)
    assert paired_gap_interval(shape, shape, level=LEVEL).n == 12


def drawn(shares: dict[str, list[float]], n: int, rng: np.random.Generator) -> dict[str, list]:
    return {g: [rng.random(n) < p for p in of_group] for g, of_group in shares.items()}


@pytest.mark.parametrize("apart", [0.0, 0.2, 0.6])
@pytest.mark.slow
def test_interval_covers_the_gap_of_groups_of_prompts(apart: float) -> None:
    """Prompts of a group vary about its mean: they are the clusters."""
    rng, missed = np.random.default_rng(8), 0
    for _ in range(60):
        shares = {
            group: list(np.clip(middle + rng.choice([-0.15, 0.15], size=12), 0, 1))
            for group, middle in (("a", 0.2), ("b", 0.2 + apart / 2), ("c", 0.2 + apart))
        }
        prompts = parity_difference_interval(drawn(shares, 10, rng), level=0.95)
        means = [np.mean(group) for group in shares.values()]
        apart = max(means) - min(means)
        missed += not prompts.low <= apart <= prompts.high
    # At 95 %, 7 or more misses in 60 have a chance of 1 in 30; Bonferroni gives fewer.
    assert missed <= 6


def test_single_prompts_have_score_intervals() -> None:
    groups = {"a": [[1] * 18 + [0] * 2], "b": [[1] * 4 + [0] * 16]}
    intervals = parity_difference_interval(groups, level=0.95)
    low = statistics.share_difference_interval((4, 20), (18, 20), 0.975).low
    high = statistics.share_difference_interval((4, 20), (18, 20), 0.95).high
    assert (intervals.low, intervals.high) == pytest.approx((low, high))
    assert intervals.estimate == pytest.approx(
        metrics.demographic_parity_difference({"a": 0.9, "b": 0.2})
    )


def test_a_group_without_images_may_have_any_share() -> None:
    groups = {"a": [[1] * 20], "b": [[1] * 20], "c": [[]]}
    result = parity_difference_interval(groups, level=0.95)
    assert (result.estimate, result.low, result.high) == (0.0, 0.0, 1.0)


def test_the_estimate_is_the_range_of_rates_that_scipy_gives() -> None:
    rng = np.random.default_rng(0)
    group, prompt, man = rng.integers(0, 3, 300), rng.integers(0, 4, 300), rng.integers(0, 2, 300)
    rates = ndimage.mean(man, group, index=[0, 1, 2])
    ours = metrics.demographic_parity_difference({str(g): rates[g] for g in range(3)})
    assert ours == pytest.approx(np.ptp(rates))
    groups = {str(g): [man[(group == g) & (prompt == p)] for p in range(4)] for g in range(3)}
    gives = parity_difference_interval(groups, level=0.95)
    assert gives.estimate == pytest.approx(ours)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({"a": [[1]]}, "at least two groups"),
        ({"a": [[1]], "b": [[]]}, "at least two groups"),
        ({"a": [[0.5]], "b": [[1]]}, "True or False"),
        ({}, "at least two groups"),
    ],
)
def test_what_makes_no_sense_is_refused(groups: dict[str, list], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        parity_difference_interval(groups, level=0.95)
    with pytest.raises(ValueError, match="rates"):
        metrics.demographic_parity_difference({"a": 0.5})


@pytest.mark.parametrize("seed", range(12))
def test_pairs_that_are_left_out_decide_nothing(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.choice([3, 8, 40, 150], size=2 + seed % 4)
    groups = {str(k): [flags(rng.integers(n + 1), n)] for k, n in enumerate(sizes)}
    counts = [(sum(prompt), len(prompt)) for (prompt,) in groups.values()]
    pairs = [(b, a) for a in counts for b in counts if a is not b]

    def of_pairs(bound, alternative):
        return [share_difference_p_value(*pair, bound, alternative=alternative) for pair in pairs]

    for bound in np.linspace(0.0, 0.9, 7):
        greater, less = (
            parity_difference_p_value(groups, bound, alternative=alternative)
            for alternative in ("greater", "less")
        )
        least = min(1.0, len(pairs) * min(of_pairs(bound, "greater")))
        assert greater == pytest.approx(least) or min(greater, least) > 0.3
        assert less == pytest.approx(max(of_pairs(bound, "less")), abs=1e-6)
    interval = parity_difference_interval(groups, level=LEVEL)
    error = (1.0 - LEVEL) / 2.0
    if interval.low > 0.0:
        assert len(pairs) * min(of_pairs(interval.low, "greater")) <= error
        assert len(pairs) * min(of_pairs(interval.low + 1e-5, "greater")) > error
    if interval.high < 1.0:
        assert max(of_pairs(interval.high, "less")) <= error
        assert max(of_pairs(interval.high - 1e-5, "less")) > error


@pytest.mark.parametrize(("step", "most"), [(0, 50), (10, 200)])
def test_an_end_is_sought_for_the_pairs_that_move_it_alone(monkeypatch, step, most):
    """Ten groups of about 1,500 images took 1,900 tests of pairs, and seconds."""
    tested = []

    def counted(*pair, **how):
        tested.append(pair)
        return share_difference_p_value(*pair, **how)

    monkeypatch.setattr(gaps, "share_difference_p_value", counted)
    hits = np.random.default_rng(3).binomial(1400, 0.4, size=10)
    groups = {str(k): [flags(count, 1400 + k * step)] for k, count in enumerate(hits)}
    assert parity_difference_interval(groups, level=0.9).low == 0.0
    assert 20 < len(tested) <= most
