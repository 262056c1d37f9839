"""Whether one prompt became more biased than in a baseline: exact tests, and an interval."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares import prompt_bias_interval
from pytest_t2i.statistics.two_shares import interval_difference

Signs = npt.NDArray[np.int64]

# Grid of nuisance shares over which the probability is maximised; 64 points find it to 0.001.
NUISANCE_POINTS = 64


def paired_prompt_p_value(
    before: npt.ArrayLike, after: npt.ArrayLike, *, margin: float = 0.0, shared_seeds: bool
) -> float:
    """Return the exact p-value against "the absolute prompt bias score grew by at most the margin".

    H0: ``|score_after| - |score_before| <= margin``. Growth to the male and to the female side are
    each tested one-sidedly, and the smaller p-value is doubled (Bonferroni). Growth to the male
    side requires that the score after lies above both the score before and its mirror image (the
    larger of the two p-values counts); the female side likewise.

    With shared seeds and margin 0, images are compared seed by seed (McNemar's exact test).
    Otherwise an exact unconditional test compares the counts (Chan 1998), which is conservative for
    positively correlated pairs, such as images of one seed.
    """
    old, new = _signs("before", before), _signs("after", after)
    tolerated = float(inputs.in_range("margin", margin, 0.0, 2.0))
    if shared_seeds:
        inputs.same_shape(before=old, after=new)
    if not np.any(old) or not np.any(new):
        return 1.0
    # |after| - |before| > margin on a side: beyond the old score and its mirror image.
    sides = [
        max(_exceeds(side * new, mirror * old, tolerated, shared_seeds) for mirror in (1, -1))
        for side in (1, -1)
    ]
    return min(1.0, 2.0 * min(sides))


def _exceeds(new: Signs, old: Signs, margin: float, shared_seeds: bool) -> float:
    if shared_seeds and margin == 0.0:  # McNemar
        up, down = int(np.sum((new > 0) & (old < 0))), int(np.sum((new < 0) & (old > 0)))
        return float(scipy.stats.binom.sf(up - 1, up + down, 0.5))
    k_new, n_new = int(np.sum(new > 0)), int(np.sum(new != 0))
    k_old, n_old = int(np.sum(old > 0)), int(np.sum(old != 0))
    return unconditional_p_value(k_new, n_new, k_old, n_old, margin / 2.0)


def unconditional_p_value(k_new: int, n_new: int, k_old: int, n_old: int, margin: float) -> float:
    """Return the exact p-value against "the new share exceeds the old by at most the margin".

    The p-value is the largest probability, over shares with ``p_new - p_old = margin``, of tables
    whose score statistic is at least the observed one (Chan 1998, with a plain smoothed variance).
    """
    return float(unconditional_p_values(n_new, n_old, margin)[k_new, k_old])


# Prompts of a run have only a handful of different numbers of clear images.
@lru_cache(maxsize=128)
def unconditional_p_values(n_new: int, n_old: int, margin: float) -> inputs.Floats:
    """Return ``unconditional_p_value`` for all outcomes, [n_new + 1, n_old + 1], read-only."""
    new, old = np.arange(n_new + 1), np.arange(n_old + 1)
    share, before = new[:, None] / n_new, old[None, :] / n_old
    # Add-one smoothing keeps the variance above 0 where all images agree, so tables have an order.
    smooth, smooth_before = (
        (new[:, None] + 1.0) / (n_new + 2.0),
        (old[None, :] + 1.0) / (n_old + 2.0),
    )
    variance = smooth * (1 - smooth) / n_new + smooth_before * (1 - smooth_before) / n_old
    statistic = ((share - before - margin) / np.sqrt(variance)).ravel()
    order = np.argsort(-statistic, kind="stable")
    reached = np.zeros(len(order))
    for p_old in np.linspace(0.0, 1.0 - margin, NUISANCE_POINTS):
        chance = scipy.stats.binom.pmf(new, n_new, p_old + margin)[:, None] * scipy.stats.binom.pmf(
            old, n_old, p_old
        )
        np.maximum(reached, np.cumsum(chance.ravel()[order]), out=reached)
    # Equally extreme outcomes share the p-value of the last of them.
    last = np.searchsorted(-statistic[order], -statistic + 1e-9, side="right") - 1
    p_values = np.minimum(1.0, reached[last]).reshape(n_new + 1, n_old + 1)
    p_values.flags.writeable = False
    return p_values


def _signs(name: str, values: npt.ArrayLike) -> Signs:
    array = inputs.floats(name, values)
    inputs.one_dimensional(**{name: array})
    for position, value in enumerate(array.tolist()):
        if value not in {-1.0, 0.0, 1.0}:
            raise ValueError(f"{name} must hold 1, -1 or 0, got {name}[{position}]={value:g}")
    return array.astype(np.int64)


def prompt_bias_change(
    before_male: int, before_female: int, after_male: int, after_female: int, level: float
) -> Interval:
    """Return the change of one prompt's absolute bias score, with an interval.

    .. math:: |score_after| - |score_before|, its interval from the two exact ones by
       "square and add" (Zou and Donner 2008)

    That method assumes unbiased estimates, and an absolute score near 0 is biased: where the score
    of one side may be 0, the interval reaches at least as far as it would if that score were 0.
    Without this the interval covered a change to parity in 67 to 85 % of cases (tests/simulations).
    """
    before = abs(prompt_bias_interval(before_male, before_female, level))
    after = abs(prompt_bias_interval(after_male, after_female, level))
    change = interval_difference(before, after)
    low, high = change.low, change.high
    if after.low == 0.0:
        low = min(low, -before.high)
    if before.low == 0.0:
        high = max(high, after.high)
    return replace(change, low=low, high=high)
