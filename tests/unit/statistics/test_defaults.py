"""An option that is left out is the one that the documentation names."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

from pytest_t2i import statistics as s
from pytest_t2i.statistics.associations import rank_correlation_interval
from pytest_t2i.statistics.change import growth_probabilities, paired_prompt_p_value
from pytest_t2i.statistics.detectors import fleiss_interval
from pytest_t2i.statistics.means import gap_p_value
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.variety import wals_interval

rng = np.random.default_rng(5)
MEN = rng.integers(3, 18, 12)
COUNTS = MEN, 20 - MEN
AFTER = MEN[::-1], 20 - MEN[::-1]
TABLE = np.stack(COUNTS, axis=1)
ROWS = rng.normal(size=(25, 4))
SIGNS = [rng.choice([-1, 1], 12) for _ in range(4)], [rng.choice([-1, 1], 12) for _ in range(4)]
GROUPS = {"a": [rng.binomial(1, 0.7, 9) for _ in range(4)], "b": [rng.binomial(1, 0.2, 9)] * 4}
GAPS = [rng.normal(0.1, 0.3, 3) for _ in range(12)]
PRESENT = rng.binomial(1, 0.3, (9, 2)), rng.binomial(1, 0.6, (9, 2))
ATTRIBUTES = [[(int(k), 20, 0.3, 1)] for k in MEN[:5]]
LEVEL = {"level": 0.9}
SEED = {"seed": 0}
CASES = [
    (partial(gap_p_value, GAPS, 0.05), {"alternative": "greater"}),
    (partial(s.change_p_value, *COUNTS, *AFTER, **SEED), {"redraws": 5000}),
    (partial(paired_change_p_value, *SIGNS, **SEED), {"redraws": 5000}),
    (
        partial(fleiss_interval, rng.multinomial(3, (0.7, 0.3), 12), **LEVEL, **SEED),
        {"resamples": 2000},
    ),
    (partial(growth_probabilities, *COUNTS, *AFTER), {"margin": 0.0}),
    (
        partial(s.independence_p_value, rng.poisson(3, (9, 2, 2)), **LEVEL, **SEED),
        {"permutations": 2000},
    ),
    (partial(s.mean_interval, GAPS, **LEVEL), {"bounds": None}),
    (
        partial(paired_prompt_p_value, *(side[0] for side in SIGNS), shared_seeds=False),
        {"margin": 0.0},
    ),
    (
        partial(rank_correlation_interval, range(5), ATTRIBUTES, **LEVEL, **SEED),
        {"resamples": 2000},
    ),
    (
        partial(
            s.ranking, np.stack([MEN, MEN[::-1]]), 20 - np.stack([MEN, MEN[::-1]]), **LEVEL, **SEED
        ),
        {"draws": 10_000},
    ),
    (
        partial(wals_interval, ROWS, np.eye(4)[0], **LEVEL, **SEED),
        {"center": False, "resamples": 200},
    ),
]


NAMES = [call.func.__name__ for call, _ in CASES]


@pytest.mark.parametrize(("call", "options"), CASES, ids=NAMES)
def test_left_out_is_as_documented(call, options):
    np.testing.assert_equal(call(), call(**options))


RESAMPLED = [
    (call, name, options[name])
    for call, options in CASES
    for name in ("resamples", "draws", "permutations")
    if name in options and hasattr(sys.modules[call.func.__module__], "check_resampling")
]


@pytest.mark.parametrize(
    ("call", "name", "times"), RESAMPLED, ids=[call.func.__name__ for call, *_ in RESAMPLED]
)
def test_so_many_resamples_are_drawn(call, name, times, monkeypatch):
    # Percentiles of scores that are tied do not show how many there were.
    asked = []

    def check(_level, resamples):
        asked.append(resamples)

    monkeypatch.setattr(sys.modules[call.func.__module__], "check_resampling", check)
    call()
    call(**{name: 150})
    assert asked == [times, 150]


def test_no_margin_is_left_to_growth():
    men, women = COUNTS
    with_margin = growth_probabilities(men, women, *AFTER, margin=0.06)
    assert np.all(growth_probabilities(men, women, *AFTER) >= with_margin)
    assert np.any(growth_probabilities(men, women, *AFTER) > with_margin)
