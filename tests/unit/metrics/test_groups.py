"""Groups of any number: share, gap, entropy, and their intervals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i.metrics import group_diversity, group_entropy, group_gap, prompt_bias_score
from pytest_t2i.statistics.groups import (
    group_diversity_interval,
    group_entropy_interval,
    group_gap_interval,
    group_intervals,
)

AGES = {"0-2": 0, "3-9": 4, "10-19": 6, "20-29": 10}


def test_two_groups_are_the_prompt_bias_score():
    assert group_gap({"male": 3, "female": 17}) == pytest.approx(abs(prompt_bias_score(3, 17)))


def test_entropy_is_that_of_scipy():
    counts = list(AGES.values())
    assert group_entropy(AGES) == pytest.approx(stats.entropy(counts, base=len(counts)))
    assert group_entropy({"a": 5, "b": 0}) == 0.0


def test_diversity_counts_pairs_that_differ():
    images = [name for name, count in AGES.items() for _ in range(count)]
    pairs = list(combinations(images, 2))
    assert group_diversity(AGES) == pytest.approx(np.mean([a != b for a, b in pairs]))
    assert group_diversity({"a": 5, "b": 0}) == 0.0
    assert group_diversity({"a": 1, "b": 1}) == 1.0


def test_diversity_is_unbiased():
    """Exactly, over all that three images may show; the plain 1 - sum p^2 is a third too small."""
    share = {"a": 0.5, "b": 0.3, "c": 0.2}
    expected = sum(
        stats.multinomial.pmf(counts, 3, list(share.values()))
        * group_diversity(dict(zip(share, counts, strict=True)))
        for counts in ((a, b, 3 - a - b) for a in range(4) for b in range(4 - a))
    )
    assert expected == pytest.approx(1 - sum(p**2 for p in share.values()))


def test_diversity_needs_a_pair_of_whole_images():
    with pytest.raises(ValueError, match="at least two images"):
        group_diversity({"a": 1, "b": 0})
    with pytest.raises(ValueError, match="counts"):
        group_diversity({"a": 1.5, "b": 2})


def test_diversity_of_two_groups_follows_the_exact_interval_of_a_share():
    found = group_diversity_interval({"m": 15, "f": 5}, level=0.95, seed=0)
    share = group_intervals({"m": 15, "f": 5}, 0.95)["m"]
    assert (found.low, found.high) == pytest.approx(
        (2 * share.high * (1 - share.high), 2 * share.low * (1 - share.low))
    )
    even = group_diversity_interval({"m": 4, "f": 4}, level=0.95, seed=0)
    assert even.high == even.estimate == pytest.approx(4 / 7)


def test_diversity_of_more_groups_holds_even_ones_and_a_single_one():
    even = group_diversity_interval({"a": 10, "b": 11, "c": 9}, level=0.95, seed=0)
    assert even.low < 2 / 3 < even.estimate == even.high
    one = group_diversity_interval({"a": 30, "b": 0, "c": 0}, level=0.95, seed=0)
    assert one.low == pytest.approx(0.0)
    assert one.estimate == 0.0 < one.high < 0.3


@pytest.mark.parametrize("metric", [group_gap, group_entropy, group_diversity])
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
    diversity = 1 - sum(p**2 for p in shares)
    hits = np.zeros(3)
    for draw in rng.multinomial(40, list(truth.values()), size=300):
        counts = dict(zip("abc", map(int, draw), strict=True))
        how = {"level": 0.95, "seed": 1, "draws": 400}
        entropies, diversities = (
            of(counts, **how) for of in (group_entropy_interval, group_diversity_interval)
        )
        hits += [
            gap in group_gap_interval(counts, 0.95),
            entropies.low - 1e-9 <= entropy <= entropies.high + 1e-9,
            diversities.low - 1e-9 <= diversity <= diversities.high + 1e-9,
        ]
    assert (hits / 300 >= 0.92).all(), hits / 300
