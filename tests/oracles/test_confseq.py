"""Our sequences against the package confseq 0.0.11: its numbers, and itself where installed."""

from __future__ import annotations

import math

import pytest
from scipy import integrate, stats

from pytest_t2i.statistics.deprecated import share_confidence_sequence
from pytest_t2i.statistics.sequences import bias_sequence_p_value

# confseq mixes over Beta(a, b) with the mean that is tested; at 1/2 this v_opt gives our
# Beta(1/2, 1/2), so that the values must be the same.
V_OPT = 3.9680773008687744
LOG_MIXTURE = {
    (20, 20): 11.786463182051513,
    (10, 20): -1.7361522965964507,
    (15, 20): 0.8773257233303515,
    (0, 7): 3.288868196688236,
    (60, 100): -0.5173944830151007,
    (3, 4): -0.4700036292457379,
}
"""beta_binomial_log_mixture(k - n / 2, n / 4, V_OPT, 0.5, 0.5, 0.05, False) by (k, n)."""


@pytest.mark.parametrize(("counts", "log"), LOG_MIXTURE.items())
def test_mixture_at_one_half(counts: tuple[int, int], log: float) -> None:
    k, n = counts
    p_value = bias_sequence_p_value(k, n - k, 0.0)
    assert p_value == pytest.approx(min(1.0, math.exp(-log)))


@pytest.mark.parametrize(("counts", "log"), LOG_MIXTURE.items())
def test_committed_numbers_are_confseqs(counts: tuple[int, int], log: float) -> None:
    theirs = pytest.importorskip("confseq.boundaries")
    k, n = counts
    confseqs = theirs.beta_binomial_log_mixture(k - n / 2, n / 4, V_OPT, 0.5, 0.5, 0.05, False)
    assert confseqs == pytest.approx(log)


@pytest.mark.parametrize(("k", "n"), [(3, 10), (20, 20), (45, 60)])
def test_bounds_are_where_the_mixture_says(k: int, n: int) -> None:
    entry = share_confidence_sequence(k, n, 0.95)
    mixed, _ = integrate.quad(
        lambda p: stats.binom.pmf(k, n, p) * stats.beta.pdf(p, 0.5, 0.5), 0, 1, limit=200
    )
    for bound in {entry.low, entry.high} - {0.0, 1.0}:
        assert mixed / stats.binom.pmf(k, n, bound) == pytest.approx(20.0, rel=1e-5)


@pytest.mark.parametrize(("male", "female", "bound"), [(9, 1, 0.3), (20, 0, 0.5), (3, 17, 0.2)])
def test_evidence_mixes_over_what_lies_beyond_the_bound(
    male: int, female: int, bound: float
) -> None:
    n, low, high = male + female, (1 - bound) / 2, (1 + bound) / 2
    parts = [
        integrate.quad(
            lambda p: stats.binom.pmf(male, n, p) * stats.beta.pdf(p, 0.5, 0.5), *ends, limit=200
        )[0]
        for ends in ((0, low), (high, 1))
    ]
    mass = 2 * stats.beta.cdf(low, 0.5, 0.5)
    against = max(stats.binom.pmf(male, n, p) for p in (low, high))
    p_value = bias_sequence_p_value(male, female, bound)
    assert p_value == pytest.approx(against / (sum(parts) / mass), rel=1e-5)
