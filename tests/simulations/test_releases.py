"""Fast versions of the simulations of many releases and of many comparisons in one run."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from releases import (
    GROWN,
    RELEASES,
    UNCHANGED,
    drifting,
    first_red,
    rate,
    run_fails,
)

pytestmark = pytest.mark.slow

FEW = 20
BY = 9
"""The release by which 85 % of drifts are found (releases.md)."""


@pytest.mark.parametrize("name", GROWN)
def test_a_drift_is_found_by_the_ninth_release(name: str) -> None:
    firsts = [
        first_red(partial(drifting, name), np.random.default_rng([7, k]), 100, last=BY)
        for k in range(FEW)
    ]
    assert np.mean(np.array(firsts) <= BY) >= 0.85


@pytest.mark.parametrize("name", UNCHANGED)
def test_releases_without_a_change_are_rarely_red(name: str) -> None:
    biases = UNCHANGED[name]
    red = rate(FEW, lambda rng: first_red(lambda _: biases, rng, 20) <= RELEASES, seed=7)
    assert red <= 3 / FEW  # at 5 %, 4 or more of 20 have a chance of 1 in 60


@pytest.mark.parametrize("name", ["fair", "SDXL's rates"])
def test_twelve_comparisons_share_the_error_of_a_run(name: str) -> None:
    shared = rate(FEW, lambda rng: run_fails(UNCHANGED[name], rng, is_shared=True), seed=7)
    assert shared <= 3 / FEW
