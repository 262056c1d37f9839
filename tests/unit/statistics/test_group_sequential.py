"""Exact group-sequential tests: error levels by counting every sequence of images."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.statistics.group_sequential import (
    SequentialTest,
    expected_stop,
    log_chances,
    stopped_share_interval,
    ways_to_end,
)

N = 11


def sequences(share: float, n: int = N) -> list[tuple[np.ndarray, float]]:
    """Images so far of every sequence that shows it, and the sequence's probability."""
    return [
        (np.cumsum(x), share ** sum(x) * (1 - share) ** (n - sum(x)))
        for x in itertools.product((0, 1), repeat=n)
    ]


def lean(test: SequentialTest, shown: np.ndarray, n: int) -> int:
    k = int(shown[n - 1])
    return abs(2 * k - n) if test.folded else k


TESTS = [
    SequentialTest(N, 0.3, members=4),
    SequentialTest(N, 0.3, members=100),
    SequentialTest(N, 0.0, members=30),
    SequentialTest(N, 0.4, folded=False, members=6),
    SequentialTest(N, 0.7, folded=False, level=0.9),
]


@pytest.mark.parametrize("test", TESTS)
def test_neither_side_errs_more_often_than_it_may_at_the_edge(test):
    here = [test.boundaries(test.looks[: k + 1]) for k in range(len(test.looks))]
    beyond = within = 0.0
    for shown, chance in sequences(test.edge):
        leans = [lean(test, shown, n) for n in test.looks]
        beyond += chance * any(x >= b.upper for x, b in zip(leans, here, strict=True))
        within += chance * any(x <= b.lower for x, b in zip(leans, here, strict=True))
    assert 0.0 <= beyond <= test.spent_beyond(test.most) + 1e-9
    assert 0.0 <= within <= test.spent_within(test.most) + 1e-9
    assert beyond + within > 0.0


@pytest.mark.parametrize("test", TESTS)
def test_p_values_are_no_smaller_than_they_may_be(test):
    """Stage-wise, of every end: at most x with probability x or less."""
    looks = [test.looks[: k + 1] for k in range(len(test.looks))]
    found: list[tuple[float, float]] = []
    for shown, chance in sequences(test.edge):
        for so_far in looks:
            here = lean(test, shown, so_far[-1])
            if here >= test.boundaries(so_far).upper or so_far == test.looks:
                found.append((test.p_value(so_far, here), chance))
                break
    values = np.array(sorted(found))
    assert np.sum(values[:, 1]) == pytest.approx(1.0)
    assert np.all(np.cumsum(values[:, 1]) <= values[:, 0] + 1e-9) or _atoms_hold(values)


def _atoms_hold(values: np.ndarray) -> bool:
    """At each value, all that is as small or smaller has at most that probability."""
    return all(
        values[values[:, 0] <= x + 1e-12, 1].sum() <= x + 1e-9 for x in np.unique(values[:, 0])
    )


@pytest.mark.parametrize("test", TESTS[:2])
def test_a_score_inside_errs_less_often(test):
    """The edge is the worst case of either hypothesis."""

    def rate(score: float, side: Outcome) -> float:
        share, total = (1 + score) / 2, 0.0
        for shown, chance in sequences(share):
            for k in range(len(test.looks)):
                outcome = test.outcome(test.looks[: k + 1], lean(test, shown, test.looks[k]))
                if outcome is side:
                    total += chance
                    break
        return total

    edge = test.bound
    assert rate(edge - 0.2, Outcome.FAIL) < rate(edge, Outcome.FAIL) < rate(0.9, Outcome.FAIL)
    assert rate(edge + 0.2, Outcome.PASS) <= rate(edge, Outcome.PASS)


def test_looks_begin_where_something_can_be_decided():
    test = SequentialTest(100, 0.5, members=100)
    assert test.looks[0] == 16
    assert 21 in test.looks
    assert test.looks[-1] == 100
    assert all(b - a >= 3 for a, b in itertools.pairwise(test.looks[1:]))
    # At 16 images an even prompt passes and none fails; at 21 one that is wholly one-sided fails.
    assert test.boundaries((16,)) == (17, 1)
    assert test.boundaries((16, 21)).upper == 20
    assert SequentialTest(5, 0.5, members=100).looks == (5,)


def test_the_first_fail_is_one_that_a_large_family_rejects():
    for members in (5, 20, 100, 500):
        test = SequentialTest(200, 0.5, members=members)
        first = next(
            n for k, n in enumerate(test.looks) if test.boundaries(test.looks[: k + 1]).upper <= n
        )
        so_far = tuple(n for n in test.looks if n <= first)
        assert test.p_value(so_far, first) <= 0.05 * max(1 / 4 if members == 5 else 0, 5 / members)


def test_images_left_out_shift_a_look():
    """(counted, made): the level is spent by images made, the boundary is of those that count."""
    test = SequentialTest(100, 0.5, members=100)
    assert test.boundaries(((16, 16), (21, 21))) == test.boundaries((16, 21))
    fewer = test.boundaries(((15, 16), (19, 21)))
    assert fewer.upper > 19 or test.p_value(((15, 16), (19, 21)), fewer.upper) <= 0.0025
    last = test.boundaries(((15, 16), (90, 100)))
    assert last.upper < 90


def test_hopeless_is_what_heads_for_neither_boundary():
    test = SequentialTest(112, 0.5, members=100)
    looks = tuple(n for n in test.looks if n <= 94)
    n = looks[-1]
    assert test.is_hopeless(looks, n // 2)
    assert not test.is_hopeless(looks, n - 4)
    assert not test.is_hopeless(looks, n % 2)
    assert not test.is_hopeless(looks[:2], 9)
    assert not test.is_hopeless(test.looks, 50)
    # Undetected images stand in the way of both.
    assert test.is_hopeless(looks, n // 2 - 20, n // 2 + 20)
    assert not test.is_hopeless(looks, n - 4, n)


def test_undetected_images_must_agree():
    test = SequentialTest(112, 0.5, members=1)
    looks = test.looks[:3]
    here = test.boundaries(looks)
    assert test.outcome(looks, here.upper, looks[-1]) is Outcome.FAIL
    assert test.outcome(looks, here.upper - 2, looks[-1]) is Outcome.INCONCLUSIVE
    assert test.outcome(looks, 0, here.lower + 2) is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"most": 0}, "most must be at least 1"),
        ({"members": 0}, "members must be at least 1"),
        ({"bound": 1.5}, "bound"),
        ({"level": 1.0}, "level"),
    ],
)
def test_what_is_no_test_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        SequentialTest(**{"most": 20, "bound": 0.5, **given})


def test_looks_must_increase():
    with pytest.raises(ValueError, match="must increase"):
        SequentialTest(20, 0.5).boundaries((16, 16))


def test_nothing_can_fail_at_a_limit_of_one():
    test = SequentialTest(40, 1.0)
    assert all(test.outcome(test.looks, x) is not Outcome.FAIL for x in range(0, 41, 2))


def test_thousands_of_images_have_looks():
    """The number of their sequences is no floating-point number."""
    looks = SequentialTest(5000, 0.0).looks
    assert looks[-1] == 5000
    assert len(looks) > 30


def test_a_limit_of_zero_is_a_test_of_evenness():
    test = SequentialTest(8, 0.0)
    assert math.isclose(test.edge, 0.5)
    assert test.outcome(test.looks, 8) is Outcome.FAIL


def test_even_images_pass_where_there_are_enough_of_them():
    test = SequentialTest(40, 0.5)
    lower = [test.boundaries(test.looks[: k + 1]).lower for k in range(len(test.looks))]
    # 7 and 7, or 8 and 6, of the first 14; 16 to 24 of either gender of all 40 at the least.
    assert lower[0] >= 0
    assert lower[-1] >= 4


def test_a_single_image_can_fail_a_share_that_is_rarer_than_the_error():
    assert SequentialTest(20, 0.001, folded=False).looks[0] == 1


STOPPED = [
    SequentialTest(36, 0.5, members=20),
    SequentialTest(30, 0.2, members=10),
    SequentialTest(30, 0.35, folded=False, members=15),
]
SHARES = (0.1, 0.5, 0.75, 0.97)


@pytest.mark.parametrize("test", STOPPED)
def test_every_way_to_end_is_counted_once(test):
    ends = ways_to_end(test, ((test.looks[0],) * 2,))
    for p in (0.0, *SHARES, 1.0):
        assert np.exp(log_chances(ends, p)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("test", STOPPED)
@pytest.mark.parametrize("p", SHARES)
def test_intervals_cover_the_truth(test, p):
    """Exact coverage: over all ways to end, each with its probability."""
    ends = ways_to_end(test, ((test.looks[0],) * 2,))
    chances = np.exp(log_chances(ends, p))
    sizes = (ends.successes + ends.failures).astype(int)
    covered = 0.0
    for k, n, chance in zip(ends.successes.astype(int), sizes, chances, strict=True):
        interval = stopped_share_interval(
            test, tuple(x for x in test.looks if x <= n), int(k), 0.95
        )
        assert interval.low <= interval.estimate <= interval.high
        covered += chance * (interval.low <= p <= interval.high)
    assert covered >= 0.95 - 1e-9


def test_images_that_do_not_count_leave_the_interval_of_those_that_do():
    test = SequentialTest(100, 0.5, members=100)
    every = stopped_share_interval(test, ((16, 16), (21, 21)), 18, 0.95)
    assert every == stopped_share_interval(test, (16, 21), 18, 0.95)
    some = stopped_share_interval(test, ((14, 16), (18, 21)), 16, 0.95)
    assert (some.n, some.method) == (18, "exact after stopping")
    assert some.low < 16 / 18 < some.high


def test_the_ends_are_exact_where_all_images_agree():
    test = SequentialTest(100, 0.5, members=100)
    assert stopped_share_interval(test, (16, 21), 21, 0.95).high == 1.0
    assert stopped_share_interval(test, (16, 21), 0, 0.95).low == 0.0


@pytest.mark.parametrize("successes", [-1, 22])
def test_more_than_there_are_is_refused(successes):
    with pytest.raises(ValueError, match="successes"):
        stopped_share_interval(SequentialTest(100, 0.5), (16, 21), successes, 0.95)


@pytest.mark.parametrize("score", [0.0, 0.5, 0.9])
def test_expected_images_are_those_of_many_runs(score):
    test = SequentialTest(60, 0.5, members=100)
    rng = np.random.default_rng(3)
    share, runs = (1 + score) / 2, 600
    shown = (rng.random((runs, 60)) < share).cumsum(axis=1)
    images, ends = [], []
    for row in shown:
        for k, n in enumerate(test.looks):
            lean = abs(2 * int(row[n - 1]) - n)
            outcome = test.outcome(test.looks[: k + 1], lean).value
            if outcome != "INCONCLUSIVE" or test.is_hopeless(test.looks[: k + 1], lean):
                break
        images.append(n)
        ends.append(outcome)
    told = expected_stop(test, share)
    assert np.mean(images) == pytest.approx(told.images, abs=4 * np.std(images) / runs**0.5 + 1e-9)
    assert ends.count("FAIL") / runs == pytest.approx(told.beyond, abs=0.05)
    assert ends.count("PASS") / runs == pytest.approx(told.within, abs=0.05)


def test_a_share_is_one():
    with pytest.raises(ValueError, match="share"):
        expected_stop(SequentialTest(60, 0.5), 1.5)
