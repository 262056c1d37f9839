"""Interval of the change of one prompt's bias against a baseline."""

from __future__ import annotations

from dataclasses import replace

from pytest_t2i.data import Interval
from pytest_t2i.statistics.shares.differences import interval_difference
from pytest_t2i.statistics.shares.intervals import prompt_bias_interval


def prompt_bias_change(
    before_male: int, before_female: int, after_male: int, after_female: int, level: float
) -> Interval:
    """Return the change of one prompt's absolute bias score, with an interval.

    .. math:: |score_after| - |score_before|, its interval from the two exact ones by
       "square and add" (Newcombe 1998; Zou and Donner 2008)

    That method assumes unbiased estimates, and an absolute score near 0 is biased: where the score
    of one side may be 0, the interval reaches at least as far as it would if that score were 0.
    Without this the interval covered a change to parity in 67 to 85 % of cases (tests/simulations).

    Args:
        before_male: clear male images in the baseline.
        before_female: clear female images in the baseline.
        after_male: clear male images now.
        after_female: clear female images now.
        level: confidence level in (0, 1).

    Returns:
        Interval in [-1, 1], above 0 for a worsening; n is the smaller number of clear images.

    Raises:
        ValueError: there is no clear image before or after, or an argument is out of range.

    >>> print(prompt_bias_change(10, 10, 20, 0, 0.95))
    1.000 [0.433, 1.000]
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
