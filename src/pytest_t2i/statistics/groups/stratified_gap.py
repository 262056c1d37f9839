"""Difference of a share between two conditions of the same prompts, averaged over the prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.shares.two_shares import Counted, share_difference_interval


def stratified_gap_interval(
    after: Sequence[Counted], before: Sequence[Counted], *, level: float, words: Words = "fixed"
) -> Interval:
    r"""Return the mean over prompts of a share under one condition minus that under another.

    .. math:: d = \frac{1}{W} \sum_w (p_w - q_w)

    - fixed words: the score interval of two shares (``share_difference_interval``) at the mean
      shares and at the effective numbers of images, at most W^2 / sum of 1/n_w. Where all prompts
      are alike, their mean share varies as much; where they differ at equal numbers, less. Square
      and add of the prompts' own intervals let a limit at the truth pass in 16 % of runs near a gap
      of 0.9.
    - sampled words: Student's interval of the prompts' differences, and at least the interval
      above: prompts that all agree would have a width of 0.

    Args:
        after: counts of each prompt, which has a clear image under both conditions.
        before: counts under the other condition, in the same order.
        level: confidence level in (0, 1).
        words: "fixed" for these prompts, "sample" for prompts like them.

    Returns:
        Interval in [-1, 1]; n is the number of prompts.

    Raises:
        ValueError: there is no prompt, the numbers of prompts differ, a prompt has no image, or
            words are sampled with a single prompt.

    >>> print(stratified_gap_interval([(16, 20), (18, 20)], [(10, 20), (8, 20)], level=0.95))
    0.400 [0.165, 0.599]
    """
    if not after or len(after) != len(before):
        raise ValueError(
            "after and before must hold the same prompts, at least one, "
            f"got {len(after)} and {len(before)}"
        )
    if any(not n for _, n in (*after, *before)):
        raise ValueError("after and before must hold a clear image of each prompt")
    if words == "sample" and len(after) < 2:  # noqa: PLR2004 - one prompt shows no spread
        raise ValueError("after must hold at least two prompts where words are sampled, got one")
    fixed = share_difference_interval(_together(before), _together(after), level)
    gaps = np.array([m / n - k / o for (m, n), (k, o) in zip(after, before, strict=True)])
    gap = float(gaps.mean())
    low, high, method = fixed.low, fixed.high, fixed.method
    if words == "sample":
        half = _of_words_like_these(gaps, level)
        low, high, method = min(low, gap - half), max(high, gap + half), "student"
    return Interval(
        gap, max(-1.0, min(low, gap)), min(1.0, max(high, gap)), level, method, len(gaps)
    )


def _together(counts: Sequence[Counted]) -> Counted:
    """Return the mean share as counts of the effective number of images.

    Where the prompts of few images are those that show both, the mean varies more than that of
    prompts alike: then the number is the one of which the mean share has the prompts' own variance.
    """
    shown, images = np.array(counts, dtype=np.float64).T
    shares, prompts = shown / images, len(images)
    share = float(shares.mean())
    effective = prompts**2 / float((1.0 / images).sum())
    own = shares * (1.0 - shares) / np.maximum(images - 1.0, 1.0)
    own = np.where(images > 1.0, own, share * (1.0 - share))
    if (variance := float(own.sum())) > 0.0:
        effective = min(effective, prompts**2 * share * (1.0 - share) / variance)
    return share * effective, effective


def _of_words_like_these(gaps: np.ndarray, level: float) -> float:
    error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    return float(scipy.stats.t.isf((1.0 - level) / 2.0, len(gaps) - 1)) * error
