"""Detection of prompts that changed against a baseline, and a change that allows for them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.statistics.model.fixed_words import FixedWords

Whole = npt.NDArray[np.int64]

FEW_PROMPTS = 10
"""Number of prompts below which counts do not show whether prompts changed: then a change is always
bounded. Where it was not, a margin of 0 failed in up to 25 % of runs without a change of the score,
and a margin at the truth passed in up to 36 % (tests/simulations/few_prompts.md)."""
COUNTS_DIFFER = 0.35
"""p-value of "no prompt changed" up to which the change is bounded for any distribution of bias:
small enough to leave most unchanged models their narrow interval, and large enough that undetected
changes bias the change by less than its error (tests/simulations/change.md)."""
SCORES_DIFFER = 0.1
"""The same for "the score did not change", two-sided: a FAIL against a margin is always bounded."""


class Ends(NamedTuple):
    """The ends of an interval of a change."""

    low: float
    high: float


def is_bounded(before: Whole, after: Whole, ratio: float) -> bool:
    """Tell whether a change has to be bounded, as prompts may have changed.

    Args:
        before: clear male and female images of the prompts, [2, n_prompts].
        after: the same now.
        ratio: change of the score divided by its standard error.

    >>> same = np.array([[10] * 20, [10] * 20])
    >>> is_bounded(same, same, 0.0), is_bounded(same, same, -2.0)
    (False, True)
    """
    if before.shape[1] < FEW_PROMPTS:
        return True
    scores = 2.0 * float(scipy.special.ndtr(-abs(ratio)))
    return scores <= SCORES_DIFFER or moved_p_value(before, after) <= COUNTS_DIFFER


def moved_p_value(before: Whole, after: Whole) -> float:
    """Return the p-value against "no prompt's share changed", by a normal approximation.

    .. math:: sum of ((k_i - m_i)^2 / v_i - 1) / sqrt(sum of its variances)

    with the men now, k_i, which under the null hypothesis are hypergeometric with mean m_i and
    variance v_i, given the images before and after together.

    >>> before, after = np.array([[10] * 9, [10] * 9]), np.array([[19] * 9, [1] * 9])
    >>> moved_p_value(before, before) > 0.9, moved_p_value(before, after) < 0.001
    (True, True)
    """
    excess = variance = 0.0
    rows = np.stack([before.sum(axis=0), after.sum(axis=0), before[0] + after[0], after[0]], axis=1)
    for old, new, men, now in rows.tolist():
        middle, spread, spread_of_square = _urn(old, new, men)
        if spread > 0.0:
            excess += (now - middle) ** 2 / spread - 1.0
            variance += spread_of_square
    return float(scipy.special.ndtr(-excess / math.sqrt(variance))) if variance > 0.0 else 1.0


def bounded_change(before: Whole, after: Whole, level: float) -> Ends:
    """Return a change of the model bias score that holds for any distributions of bias.

    .. math:: E c_below(after) - E c_above(before) <= change <= E c_above(after) - E c_below(before)

    Each end includes the normal sampling error of images (``model.bounding``).

    >>> even, one_sided = np.array([[10] * 20, [10] * 20]), np.array([[20] * 20, [0] * 20])
    >>> bounded_change(even, one_sided, 0.95).low > 0.7
    True
    """
    old, new = FixedWords.of(*before), FixedWords.of(*after)
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    low = new.below.value - old.above.value - z * math.hypot(new.below.error, old.above.error)
    high = new.above.value - old.below.value + z * math.hypot(new.above.error, old.below.error)
    return Ends(low, high)


@lru_cache(maxsize=65536)
def _urn(old: int, new: int, men: int) -> tuple[float, float, float]:
    """Return mean and variance of the men now, and the variance of their standardised square."""
    k = np.arange(new + 1)
    chance = scipy.stats.hypergeom.pmf(k, old + new, men, new)
    middle = float(chance @ k)
    spread = float(chance @ (k - middle) ** 2)
    if spread <= 1e-9:  # noqa: PLR2004 - all of one gender
        return middle, 0.0, 0.0
    return middle, spread, float(chance @ ((k - middle) ** 4)) / spread**2 - 1.0
