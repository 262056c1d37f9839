"""Intervals after stopping, and what is expected: exact, so they are checked without simulation."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import SequentialTest, expected_stop, stopped_share_interval
from pytest_t2i.statistics.sequential.after_stopping import log_chances, ways_to_end

TESTS = [
    SequentialTest(36, 0.5, members=20),
    SequentialTest(30, 0.2, members=10),
    SequentialTest(30, 0.35, folded=False, members=15),
]
SHARES = (0.1, 0.5, 0.75, 0.97)


@pytest.mark.parametrize("test", TESTS)
def test_every_way_to_end_is_counted_once(test):
    ends = ways_to_end(test, test.looks[:1])
    for p in (0.0, *SHARES, 1.0):
        assert np.exp(log_chances(ends, p)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("p", SHARES)
def test_intervals_cover_the_truth(test, p):
    """Exact coverage: over all ways to end, each with its probability."""
    ends = ways_to_end(test, test.looks[:1])
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


def test_the_interval_is_narrower_than_one_for_every_look():
    from pytest_t2i.statistics import share_confidence_sequence

    test = SequentialTest(100, 0.5, members=100)
    exact = stopped_share_interval(test, test.looks[:5], 27, 0.95)
    at_any_look = share_confidence_sequence(27, test.looks[4], 0.95)
    assert exact.high - exact.low < 0.85 * (at_any_look.high - at_any_look.low)
    assert exact.method == "exact after stopping"


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
