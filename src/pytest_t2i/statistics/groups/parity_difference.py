"""Gap between the largest and the smallest share among groups of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.means.mean import mean_interval
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.shares.differences import interval_difference
from pytest_t2i.statistics.shares.intervals import clopper_pearson
from pytest_t2i.statistics.shares.inversion import Alternative, check_words, inverted_p_value
from pytest_t2i.statistics.shares.resampling import check_resampling

Group = Sequence[npt.ArrayLike]
"""Images of each prompt of a group: 1 where an image has the outcome, else 0."""


def parity_difference_interval(
    groups: Mapping[str, Group],
    *,
    level: float,
    seed: int,
    words: Words = "fixed",
    resamples: int = 2000,
) -> Interval:
    """Return the demographic parity difference with an interval.

    The groups with the extreme shares in the sample need not be the true extremes. A group without
    images may have any share.

    - fixed words: intervals of the differences of all pairs of groups by "square and add" (Newcombe
      1998) from the exact intervals of two shares. The high end is the largest of theirs, without a
      correction for the number of pairs, as it is at least that of the pair with the true extremes.
      The low end is the largest too, with Bonferroni's correction.
    - sampled words: from simultaneous intervals of all groups' shares (``parity_shares``).

    Args:
        groups: images of each prompt of each group, 1 with the outcome and 0 without.
        level: confidence level in (0, 1).
        seed: seed of the resampling of prompts; unused with fixed words.
        words: "fixed" for these prompts, "sample" for words like them.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        Interval in [0, 1]; n is the number of prompts with an image.

    Raises:
        ValueError: fewer than two groups have an image, a value is neither 0 nor 1, or an option
            is out of range.

    >>> groups = {"a": [[1] * 20], "b": [[0] * 20]}
    >>> print(parity_difference_interval(groups, level=0.95, seed=0))
    1.000 [0.722, 1.000]
    """
    shares = parity_shares(groups, level=level, seed=seed, words=words, resamples=resamples)
    known = [share.estimate for share in shares.values() if share.n]
    if len(known) < 2:  # noqa: PLR2004 - one group has no difference
        raise ValueError(f"at least two groups must have an image, got {len(known)}")
    estimate = max(known) - min(known)
    prompts = int(sum(np.size(prompt) > 0 for group in groups.values() for prompt in group))
    if words == "fixed":
        pooled = [_joined(name, group) for name, group in groups.items()]
        low, high = _fixed_gap(pooled, level)
        return Interval(estimate, low, high, level, "square-and-add", prompts)
    low, high = widest_gap(
        [share.low for share in shares.values()], [share.high for share in shares.values()]
    )
    return Interval(estimate, low, high, level, "bonferroni", prompts)


def parity_shares(
    groups: Mapping[str, Group],
    *,
    level: float,
    seed: int,
    words: Words = "fixed",
    resamples: int = 2000,
) -> dict[str, Interval]:
    """Return the share of the outcome in each group, with simultaneous intervals (Bonferroni).

    With fixed words the share of a group is that of all its images, n is the number of images, and
    the Clopper-Pearson interval is conservative: a sum of draws of different probabilities varies
    less than one of their mean (Hoeffding 1956). With sampled words prompts are the clusters
    (``mean_interval``) and n is their number. A group without an image has [0, 1] with n = 0.

    Args:
        groups: as in ``parity_difference_interval``.
        level: simultaneous confidence level of all intervals, in (0, 1).
        seed: seed of the resampling of prompts; unused with fixed words.
        words: "fixed" for these prompts, "sample" for words like them.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        Interval per group, in the given order.

    Raises:
        ValueError: there is no group, a value is neither 0 nor 1, or an option is out of range.

    >>> found = parity_shares({"a": [[1] * 20], "b": []}, level=0.95, seed=0)
    >>> print(found["a"], found["b"])
    1.000 [0.803, 1.000] 0.500 [0.000, 1.000]
    """
    check_resampling(level, resamples)
    check_words(words)
    if not groups:
        raise ValueError("groups must hold at least one group, got none")
    each = 1.0 - (1.0 - level) / len(groups)
    prompts = {name: _prompts(name, group) for name, group in groups.items()}
    if words == "fixed":
        return {name: _pooled(group, each) for name, group in prompts.items()}
    return {name: _resampled(group, each, seed, resamples) for name, group in prompts.items()}


def parity_difference_p_value(
    groups: Mapping[str, Group],
    bound: float,
    *,
    alternative: Alternative = "greater",
    words: Words = "fixed",
    seed: int = 0,
    resamples: int = 2000,
) -> float:
    """Return the one-sided p-value of the demographic parity difference against a bound.

    It inverts ``parity_difference_interval`` (``inverted_p_value``).

    Args:
        groups: as in ``parity_difference_interval``.
        bound: limit of the difference, in [0, 1].
        alternative: "greater" against "the difference is at most the bound", "less" against "the
            difference is at least the bound".
        words: "fixed" for these prompts, "sample" for words like them.
        seed: seed of the resampling of prompts; unused with fixed words.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as in ``parity_difference_interval``, or the bound lies outside [0, 1].

    >>> parity_difference_p_value({"a": [[1] * 20], "b": [[0] * 20]}, 0.2) < 0.001
    True
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))

    def interval(level: float) -> Interval:
        return parity_difference_interval(
            groups, level=level, seed=seed, words=words, resamples=resamples
        )

    return inverted_p_value(interval, limit, alternative=alternative)


def widest_gap(low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and largest gap between extreme shares that lie in these intervals.

    >>> widest_gap([0.5, 0.0], [0.75, 0.25])
    (0.25, 0.75)
    """
    lows, highs = inputs.floats("low", low), inputs.floats("high", high)
    reach = highs[:, None] - lows[None, :]
    np.fill_diagonal(reach, 0.0)
    return max(0.0, float(lows.max() - highs.min())), min(1.0, float(reach.max()))


def _fixed_gap(groups: list[inputs.Bools], level: float) -> tuple[float, float]:
    """Return the ends of the difference between the largest and the smallest pooled share."""
    seen = [group for group in groups if group.size]
    error = (1.0 - level) / 2.0
    pairs = len(seen) * (len(seen) - 1)
    low = max(_pair_ends(a, b, error / pairs)[0] for a, b in permutations(seen, 2))
    high = max(_pair_ends(a, b, error)[1] for a, b in permutations(seen, 2))
    if len(seen) < len(groups):
        ends = [_pooled([group], level) for group in seen]
        high = max(high, *(max(end.high, 1.0 - end.low) for end in ends))
    return max(0.0, low), min(1.0, high)


def _pair_ends(a: inputs.Bools, b: inputs.Bools, error: float) -> tuple[float, float]:
    """Return the ends of the share of a minus that of b, each with this one-sided error."""
    first, second = (_pooled([group], 1.0 - 2.0 * error) for group in (a, b))
    gap = interval_difference(second, first)
    return gap.low, gap.high


def _joined(name: str, group: Group) -> inputs.Bools:
    prompts = _prompts(name, group)
    return np.concatenate(prompts) if prompts else np.zeros(0, dtype=np.bool_)


def _prompts(name: str, group: Group) -> list[inputs.Bools]:
    prompts = [inputs.booleans(f"groups[{name!r}]", entry).ravel() for entry in group]
    return [prompt for prompt in prompts if prompt.size]


def _pooled(prompts: list[inputs.Bools], level: float) -> Interval:
    if not prompts:
        return _unknown(level)
    images = np.concatenate(prompts)
    return clopper_pearson(int(images.sum()), images.size, level)


def _resampled(prompts: list[inputs.Bools], level: float, seed: int, resamples: int) -> Interval:
    if len(prompts) < 2:  # noqa: PLR2004 - one prompt shows no spread between prompts
        return _pooled(prompts, level)
    return mean_interval(
        [prompt.astype(float) for prompt in prompts],
        level=level, seed=seed, bounds=(0.0, 1.0), resamples=resamples,
    )  # fmt: skip


def _unknown(level: float) -> Interval:
    return Interval(0.5, 0.0, 1.0, level, "none", 0)
