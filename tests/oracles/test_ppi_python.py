"""Labels' corrections against ppi-python, evenly drawn and with probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from for_correction import LEVEL, ppi_half_width

from pytest_t2i.statistics.active_correction import (
    calibrated,
    choice_probabilities,
    draw_sample,
    likely_signs,
    weighted_score,
)

ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")


def test_the_half_width_that_the_simulation_compares_with() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        u, f = (rng.random(n) < 0.7 for n in (300, 40))
        y = np.where(rng.random(40) < 0.9, f, ~f)
        y, f, u = (part.astype(float) for part in (y, f, u))
        low, high = (float(entry[0]) for entry in ppi.ppi_mean_ci(y, f, u, alpha=1.0 - LEVEL))
        assert ppi_half_width(y, f, u) == pytest.approx((high - low) / 2.0)


@pytest.mark.parametrize("evenly", [True, False])
def test_the_weighted_score(evenly: bool) -> None:
    """Signed by the prompts' seeming sign, it is a mean that labels with weights correct."""
    rng = np.random.default_rng(1)
    signs = np.where(rng.random((60, 20)) < 0.75, 1.0, -1.0)
    odds = signs * 2.0 + 2.0 * rng.standard_normal(signs.shape)
    doubt = np.ones(signs.size) if evenly else np.exp(-np.abs(odds.ravel()))
    chances = choice_probabilities(doubt, 100)
    places = draw_sample(chances, 7)
    said = np.full(signs.size, np.nan)
    said[places] = signs.ravel()[places]
    score = weighted_score(odds, said.reshape(signs.shape), chances.reshape(signs.shape))

    weights = 1.0 / chances[places]
    calibration = calibrated(odds.ravel()[places], said[places], weights)
    likely = np.array(likely_signs(list(odds), calibration))
    seeming = np.where(likely.mean(axis=1, keepdims=True) >= 0.0, 1.0, -1.0)
    y, f = ((seeming * part).ravel() for part in (signs, likely))
    theirs = ppi.ppi_mean_pointestimate(y[places], f[places], f, lam=1.0, w=weights)
    assert score.least == pytest.approx(float(theirs[0]), abs=2e-3)
    if evenly:
        low, high = (
            float(end[0]) for end in ppi.ppi_mean_ci(y[places], f[places], f, alpha=0.05, lam=1.0)
        )
        # They add what the unlabelled images vary by, were they drawn; here they are all there are.
        of_all = np.var(f) / len(f)
        half = np.sqrt(((high - low) / 2 / 1.959964) ** 2 - of_all)
        assert score.error == pytest.approx(half, rel=0.06)
