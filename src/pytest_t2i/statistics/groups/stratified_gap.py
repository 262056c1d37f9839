"""How a share differs between two conditions of the same prompts, averaged over the prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.statistics.model.fixed_words import Words

Counted = tuple[int, int]
"""Images that show it, and images that were judged."""


def stratified_gap_interval(
    after: Sequence[Counted], before: Sequence[Counted], *, level: float, words: Words = "fixed"
) -> Interval:
    r"""Mean over prompts of a share under one condition minus that under another.

    .. math:: d = \frac{1}{W} \sum_w (p_w - q_w)

    - fixed words: square and add of the exact intervals of all shares (MOVER; Newcombe 1998, Zou,
      Huang and Zhang 2009): each prompt counts alike, however many of its images are clear. With
      Wilson's intervals few images of shares near 0 and 1 would be covered too rarely.
    - sampled words: Student's interval of the prompts' differences, and no less than the one above:
      prompts that all agree would leave no error.

    Args:
        after: of each prompt, with a clear image in both.
        before: the same of the other condition, in the same order.
        level: confidence level in (0, 1).
        words: "fixed" for these prompts, "sample" for prompts like them.

    Returns:
        Interval in [-1, 1]; n is the number of prompts.

    Raises:
        ValueError: no prompt, another number of them, one without an image, or a single one where
            words are sampled.

    >>> print(stratified_gap_interval([(16, 20), (18, 20)], [(10, 20), (8, 20)], level=0.95))
    0.400 [0.170, 0.576]
    """
    if not after or len(after) != len(before):
        raise ValueError(f"expected as many prompts twice, got {len(after)} and {len(before)}")
    if any(not n for _, n in (*after, *before)):
        raise ValueError("expected a clear image of each prompt")
    gaps = np.array([m / n - k / o for (m, n), (k, o) in zip(after, before, strict=True)])
    gap = float(gaps.mean())
    if words == "sample" and len(gaps) < 2:  # noqa: PLR2004 - one prompt shows no spread
        raise ValueError("expected two prompts where words are sampled, got one")
    counts = np.array([*after, *before], dtype=float)
    down, up = _reach(counts[:, 0], counts[:, 1], level)
    prompts = len(gaps)
    # What lowers the gap raises the share before.
    low = float(np.hypot.reduce([*down[:prompts], *up[prompts:]])) / prompts
    high = float(np.hypot.reduce([*up[:prompts], *down[prompts:]])) / prompts
    method = "square-and-add"
    if words == "sample":
        half = _of_words_like_these(gaps, level)
        low, high, method = max(low, half), max(high, half), "student"
    ends = max(gap - low, -1.0), min(gap + high, 1.0)
    return Interval(gap, *ends, level, method, len(gaps))


def _reach(shown: np.ndarray, images: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """How far the exact interval of each share reaches down and up (Clopper and Pearson 1934)."""
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
