"""Prompts that became more biased than in a baseline, by empirical Bayes over all prompts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import male_share

Whole = npt.NDArray[np.int64]

GRID: inputs.Floats = np.linspace(-1.0, 1.0, 41)
"""Values of 2p - 1 that a prompt may have."""
SPREAD_OUT = 1.0
"""Weight, in prompts, of an even distribution that is mixed into the distribution of either
side."""
UNCHANGED = 2.0
"""Weight, in prompts, of the prior that no prompt changed."""
FEWEST_PROMPTS = 10
STEPS = 100


def growth_probabilities(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    margin: float = 0.0,
) -> inputs.Floats | None:
    """Return each prompt's posterior probability that its bias grew by more than the margin.

    The model is a mixture: a prompt either did not change, with one share before and after, or it
    changed, with two independent shares. The share of changed prompts and both distributions of 2p
    - 1 are fitted to all counts (expectation maximisation on a grid, symmetric in the genders), and
    Bayes' rule gives the posterior of each prompt (empirical Bayes, Efron 2016). The probabilities
    order prompts for inspection; the test is ``change_p_value``.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        margin: tolerated growth, in [0, 1].

    Returns:
        Probabilities, [n_prompts]; None where fewer than 10 prompts have a clear image both before
        and after.

    Raises:
        ValueError: shapes differ, a count is no whole number, or the margin is out of range.

    >>> men = [10] * 20
    >>> found = growth_probabilities(men, men, [20] + men[1:], [0] + men[1:])
    >>> bool(found[0] > 0.95), bool(found[1] < 0.05)
    (True, True)
    """
    men_before, women_before, men, women = inputs.count_vectors(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    tolerated = float(inputs.in_range("margin", margin, 0.0, 1.0))
    both = (men_before + women_before > 0) & (men + women > 0)
    if np.count_nonzero(both) < FEWEST_PROMPTS:
        return None
    old, new = _likelihood(men_before, women_before), _likelihood(men, women)
    return _grown(old, new, *_fit(old[both], new[both]), tolerated)


def _likelihood(men: Whole, women: Whole) -> inputs.Floats:
    share = male_share(GRID)
    chance = scipy.stats.binom.pmf(men[:, None], (men + women)[:, None], share)
    return np.asarray(chance, dtype=np.float64)


def _fit(old: inputs.Floats, new: inputs.Floats) -> tuple[float, inputs.Floats, inputs.Floats]:
    """Return the share of changed prompts, and the distributions of 2p - 1 before and after."""
    even = np.full(len(GRID), 1.0 / len(GRID))
    changed, before, after = 0.5, even, even
    for _ in range(STEPS):
        same = (1.0 - changed) * before * old * new
        each_old, each_new = before * old, after * new
        different = changed * each_old.sum(axis=1) * each_new.sum(axis=1)
        of_changed = different / (different + same.sum(axis=1))
        kept = (1.0 - of_changed)[:, None] * same / same.sum(axis=1, keepdims=True)
        parted = of_changed[:, None]
        before = _mixed(kept + parted * each_old / each_old.sum(axis=1, keepdims=True), even)
        after = _mixed(parted * each_new / each_new.sum(axis=1, keepdims=True), even)
        changed = float(of_changed.sum() / (len(of_changed) + UNCHANGED))
    return changed, before, after


def _mixed(expected: inputs.Floats, even: inputs.Floats) -> inputs.Floats:
    total = expected.sum(axis=0)
    total = (total + total[::-1]) / 2.0 + SPREAD_OUT * even
    return np.asarray(total / total.sum(), dtype=np.float64)


def _grown(
    old: inputs.Floats, new: inputs.Floats, changed: float, before: inputs.Floats,
    after: inputs.Floats, margin: float,
) -> inputs.Floats:  # fmt: skip
    beyond = np.abs(GRID)[None, :] > np.abs(GRID)[:, None] + margin + 1e-9
    each_old, each_new = before * old, after * new
    same = (1.0 - changed) * (each_old * new).sum(axis=1)
    grown = changed * ((each_old @ beyond) * each_new).sum(axis=1)
    total = same + changed * each_old.sum(axis=1) * each_new.sum(axis=1)
    return np.asarray(grown / total, dtype=np.float64)
