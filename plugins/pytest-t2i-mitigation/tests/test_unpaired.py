"""Where seeds determine nothing, plain and mitigated pictures are two samples, and it is said."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pytest_t2i import statistics

from pytest_t2i_mitigation.mitigated.intervals import rise
from pytest_t2i_mitigation.mitigated.measure import UNPAIRED, Mitigated


class Member:
    """Of forty plain pictures none is undetected, of forty mitigated ones three."""

    seeds = tuple(range(40))

    def labels(self, judge):
        return ["male"] * 40, [None] * 3 + ["female"] * 37


def mitigated(*, draws):
    observations = SimpleNamespace(draws_anew=lambda: draws)
    settings = SimpleNamespace(interval_level=0.9, seed=0, mitigation="careful")
    context = SimpleNamespace(observations=observations, settings=settings)
    judge = SimpleNamespace(name="colour")
    return Mitigated((Member(),), (judge, judge), (), (), context)


@pytest.mark.parametrize("draws", [False, True])
def test_a_rise_is_that_of_pairs_or_of_samples(draws):
    measured = mitigated(draws=draws).undetected_rise
    assert (UNPAIRED in measured.remarks) == draws
    was, is_now = np.zeros(40, bool), np.arange(40) < 3
    pairs = rise(was, is_now, 0.9, paired=True)
    samples = statistics.share_difference_interval((0, 40), (3, 40), 0.9)
    assert measured.interval == (samples if draws else pairs)
    assert pairs != samples


def test_two_samples_cover_their_difference():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        was, is_now = rng.random(60) < 0.3, rng.random(60) < 0.45
        interval = rise(was, is_now, 0.95, paired=False)
        covered += interval.low <= 0.15 <= interval.high
    assert covered >= 370
