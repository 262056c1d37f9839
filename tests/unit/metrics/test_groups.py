"""Groups of any number: share, gap, entropy, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.metrics import group_entropy, group_gap, prompt_bias_score
from pytest_t2i.statistics import group_entropy_interval, group_gap_interval, group_intervals

AGES = {"0-2": 0, "3-9": 4, "10-19": 6, "20-29": 10}


def test_two_groups_are_the_prompt_bias_score():
    assert group_gap({"male": 3, "female": 17}) == pytest.approx(abs(prompt_bias_score(3, 17)))


def test_entropy_is_that_of_scipy():
    counts = list(AGES.values())
    assert group_entropy(AGES) == pytest.approx(stats.entropy(counts, base=len(counts)))
    assert group_entropy({"a": 5, "b": 0}) == 0.0


@pytest.mark.parametrize("metric", [group_gap, group_entropy])
@pytest.mark.parametrize("counts", [{}, {"a": 3}, {"a": 0, "b": 0}, {"a": -1, "b": 2}])
def test_refusals(metric, counts):
    with pytest.raises(ValueError, match=r"counts"):
        metric(counts)


def test_shares_add_up_and_hold_their_estimates():
    estimates = group_intervals(AGES, 0.95)
    assert sum(entry.estimate for entry in estimates.values()) == pytest.approx(1.0)
    assert estimates["0-2"].low == 0.0 < estimates["0-2"].high


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1), (0.9, 0.05, 0.05)])
def test_intervals_cover(shares):
    rng = np.random.default_rng(5)
    truth = dict(zip("abc", shares, strict=True))
    gap, entropy = max(shares) - min(shares), stats.entropy(shares, base=3)
    hits = np.zeros(2)
    for draw in rng.multinomial(40, list(truth.values()), size=300):
        counts = dict(zip("abc", map(int, draw), strict=True))
        hits += [
            gap in group_gap_interval(counts, 0.95),
            group_entropy_interval(counts, level=0.95, seed=1, draws=400).low - 1e-9
            <= entropy
            <= group_entropy_interval(counts, level=0.95, seed=1, draws=400).high + 1e-9,
        ]
    assert (hits / 300 >= 0.92).all(), hits / 300
