"""Difference of two shares on paired images, pooled over prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.shares.by_prompt import share_by_prompt_interval
from pytest_t2i.statistics.shares.differences import difference_of_exclusive
from pytest_t2i.statistics.shares.intervals import check_level, clopper_pearson
from pytest_t2i.statistics.shares.inversion import (
    Alternative,
    absolute_p_value,
    check_words,
)

Pairs = Sequence[npt.ArrayLike]
Whole = npt.NDArray[np.int64]


def paired_gap_interval(
    first: Pairs, second: Pairs, *, level: float, words: Words = "fixed"
) -> Interval:
    """Return the share of the first minus the share of the second, on pairs of the same seeds.

    Only discordant pairs matter. The gap is the share of pairs in which the first image alone shows
    the trait, minus the share in which the second alone does. The intervals of both shares give
    that of their difference as in ``paired_share_change`` (method of variance estimates recovery,
    MOVER, Zou and Donner 2008). The interval has positive width where no pair shows the trait, and
    covers with at least the level in all simulated cases (tests/simulations/refusals.md).

    Args:
        first: whether each image shows the trait, one array of booleans per prompt; empty prompts
            are left out.
        second: the same for the second images, of the same seeds.
        level: confidence level in (0, 1).
        words: "fixed" for these prompts, where only seeds vary: the shares' intervals are Clopper
            and Pearson's of all pairs, which are conservative where prompts differ (Hoeffding
            1956). "sample" for prompts like these: the prompt is the unit, as in
            ``share_by_prompt_interval``. With a single prompt, pairs are the units.

    Returns:
        Interval in [-1, 1]; its n is the number of pairs, or of prompts with sampled words.

    Raises:
        ValueError: there is no pair, lengths differ, a value is neither True nor False, or an
            option is out of range.

    >>> refused, made = [[True] * 8 + [False] * 12], [[False] * 20]
    >>> print(paired_gap_interval(refused, made, level=0.95))
    0.400 [0.132, 0.639]
    """
    check_level(level)
    check_words(words)
    alone, other, pairs = _counts(first, second)
    if words == "fixed" or pairs.size == 1:
        n = int(pairs.sum())
        b, c = (clopper_pearson(int(k.sum()), n, level) for k in (alone, other))
    else:
        b, c = (share_by_prompt_interval(k, pairs, level=level) for k in (alone, other))
    return replace(difference_of_exclusive(b, c), method=f"mover of {b.method}")


def paired_gap_p_value(
    first: Pairs,
    second: Pairs,
    bound: float,
    *,
    alternative: Alternative = "greater",
    words: Words = "fixed",
) -> float:
    """Return the one-sided p-value of the absolute gap against a bound, by inverted intervals.

    Args:
        first: as in ``paired_gap_interval``.
        second: as in ``paired_gap_interval``.
        bound: limit of the absolute gap, in [0, 1].
        alternative: "greater" against "the absolute gap is at most the bound" (both tails count, as
            either side may be the larger one), "less" against "the absolute gap is at least the
            bound".
        words: as in ``paired_gap_interval``.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as in ``paired_gap_interval``, or the bound or the alternative is out of range.

    >>> refused, made = [[True] * 18 + [False] * 2], [[False] * 20]
    >>> paired_gap_p_value(refused, made, 0.3) < 0.01
    True
    >>> paired_gap_p_value(made, made, 0.3, alternative="less") < 0.05
    True
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))

    def interval(level: float) -> Interval:
        return paired_gap_interval(first, second, level=level, words=words)

    return absolute_p_value(interval, limit, alternative=alternative)


def _counts(first: Pairs, second: Pairs) -> tuple[Whole, Whole, Whole]:
    """Return per prompt the pairs in which the first alone, and the second alone, shows the trait.

    The third array counts all pairs.
    """
    if len(first) != len(second):
        raise ValueError(
            f"first and second must have as many prompts, got {len(first)} and {len(second)}"
        )
    both = [
        (inputs.booleans(f"first[{k}]", a).ravel(), inputs.booleans(f"second[{k}]", b).ravel())
        for k, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    for k, (a, b) in enumerate(both):
        inputs.same_shape(**{f"first[{k}]": a, f"second[{k}]": b})
    kept = [(a, b) for a, b in both if a.size]
    if not kept:
        raise ValueError(f"first must hold at least one pair, got first={list(first)!r}")
    rows = [(int(np.sum(a & ~b)), int(np.sum(b & ~a)), a.size) for a, b in kept]
    alone, other, pairs = np.array(rows, dtype=np.int64).T
    return alone, other, pairs
