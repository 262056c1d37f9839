"""Fast version of simulations/mitigated.py: few verdicts are wrong where the truth is the limit."""

from __future__ import annotations

import pytest
from mitigated import SCORES, helps, rates, worlds
from pytest_t2i import statistics

RUNS = 150
CHEAP = ("bias_reduction", "content_loss", "undetected_rise", "turnover")


def least(share):
    return statistics.share_interval(round(share * RUNS), RUNS, 0.999).low


@pytest.mark.parametrize("images", [20, 40])
def test_what_does_nothing_helps_in_few_runs(images):
    assert least(rates(helps(SCORES, images, 0.0), RUNS, seed=2).passed) <= 0.05
    assert rates(helps(SCORES, images, 0.2), RUNS, seed=2).passed == 0.0


@pytest.mark.slow
def test_wrong_passes_are_rare():
    for metric, told, images, world in worlds():
        if metric in CHEAP:
            assert least(rates(world, RUNS, seed=3).passed) <= 0.05, (metric, told, images)


@pytest.mark.slow
def test_wrong_passes_are_rare_by_features():
    for metric, told, images, world in worlds():
        if metric not in CHEAP and images == 20:
            assert least(rates(world, RUNS, seed=4).passed) <= 0.05, (metric, told)
