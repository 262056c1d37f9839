"""Fast versions of the coverage table: exact intervals never fall below their level."""

from __future__ import annotations

import interval_coverage as coverage
import numpy as np
import pytest

pytestmark = pytest.mark.slow

EXACT = [name for name in coverage.OF_ONE_SHARE if name != "f1_interval (J = rate)"]


@pytest.mark.parametrize("n", [8, 20])
@pytest.mark.parametrize("name", EXACT)
def test_exact_intervals_cover_at_every_rate(name: str, n: int) -> None:
    assert coverage.exact(name, n, np.linspace(0.0, 1.0, 101)).min() >= 0.95


@pytest.mark.parametrize("name", coverage.OF_ONE_SHARE)
def test_all_cover_on_average_and_always_where_all_images_are_alike(name: str) -> None:
    assert coverage.exact(name, 20, coverage.all_table7()).mean() >= 0.95
    assert coverage.exact(name, 20, np.array([0.0, 1.0])).min() == pytest.approx(1.0)


def test_a_prompts_change_covers_for_every_word() -> None:
    assert coverage.change_of_a_prompt(8).min() >= 0.95


def test_resampling_intervals_cover() -> None:
    covered, _, _ = coverage.sampled(coverage.of_bounded_mean, "sdxl", 40, 20, repeats=40, seed=3)
    # At 95 %, 6 or more misses in 40 have a chance of 1 in 70.
    assert covered >= 35 / 40
