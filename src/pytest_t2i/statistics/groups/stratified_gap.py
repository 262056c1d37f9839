"""Difference of a share between two conditions of the same prompts, averaged over the prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.statistics.model.fixed_words import Words

Counted = tuple[int, int]
"""Number of images that show the trait, and number of judged images."""


def stratified_gap_interval(
    after: Sequence[Counted], before: Sequence[Counted], *, level: float, words: Words = "fixed"
) -> Interval:
    r"""Return the mean over prompts of a share under one condition minus that under another.

    .. math:: d = \frac{1}{W} \sum_w (p_w - q_w)

    - fixed words: square and add of the exact intervals of all shares (MOVER; Newcombe 1998, Zou,
      Huang and Zhang 2009), with equal weight for each prompt, for any number of clear images. With
      Wilson's intervals, coverage would be too low for few images and shares near 0 and 1.
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
    0.400 [0.170, 0.576]
    """
    if not after or len(after) != len(before):
        raise ValueError(
            "after and before must hold the same prompts, at least one, "
            f"got {len(after)} and {len(before)}"
        )
    if any(not n for _, n in (*after, *before)):
        raise ValueError("after and before must hold a clear image of each prompt")
    gaps = np.array([m / n - k / o for (m, n), (k, o) in zip(after, before, strict=True)])
    gap = float(gaps.mean())
    if words == "sample" and len(gaps) < 2:  # noqa: PLR2004 - one prompt shows no spread
        raise ValueError("after must hold at least two prompts where words are sampled, got one")
    counts = np.array([*after, *before], dtype=float)
    down, up = _reach(counts[:, 0], counts[:, 1], level)
    prompts = len(gaps)
    # The gap falls where the share before rises.
    low = float(np.hypot.reduce([*down[:prompts], *up[prompts:]])) / prompts
    high = float(np.hypot.reduce([*up[:prompts], *down[prompts:]])) / prompts
    method = "square-and-add"
    if words == "sample":
        half = _of_words_like_these(gaps, level)
        low, high, method = max(low, half), max(high, half), "student"
    ends = max(gap - low, -1.0), min(gap + high, 1.0)
    return Interval(gap, *ends, level, method, len(gaps))


def _reach(shown: np.ndarray, images: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the Clopper-Pearson interval of each share reaches down and up."""
    tail, others = (1.0 - level) / 2.0, images - shown
    low = np.where(
        shown > 0, scipy.special.betaincinv(np.maximum(shown, 1.0), others + 1.0, tail), 0.0
    )
    high = scipy.special.betaincinv(shown + 1.0, np.maximum(others, 1.0), 1.0 - tail)
    high = np.where(others > 0, high, 1.0)
    return shown / images - low, high - shown / images


def _of_words_like_these(gaps: np.ndarray, level: float) -> float:
    error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    return float(scipy.stats.t.isf((1.0 - level) / 2.0, len(gaps) - 1)) * error
