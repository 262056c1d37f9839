"""Intervals of group shares, and of scores of how evenly images fall into groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import group_diversity, group_entropy, group_gap, inputs
from pytest_t2i.statistics.inversion import check_resampling, percentiles
from pytest_t2i.statistics.shares import blaker, check_level, containing

EVEN = 0.5


def group_intervals(counts: Mapping[str, int], level: float) -> dict[str, Interval]:
    """Return each group's share with Blaker's interval, not corrected for their number."""
    numbers = _whole(counts)
    total = sum(numbers.values())
    return {name: blaker(count, total, level) for name, count in numbers.items()}


def group_gap_interval(counts: Mapping[str, int], level: float) -> Interval:
    """Return the gap between the largest and smallest group, by simultaneous exact intervals."""
    check_level(level)
    estimate = group_gap(counts)
    together = group_intervals(counts, 1.0 - (1.0 - level) / len(counts)).values()
    low = max(entry.low for entry in together) - min(entry.high for entry in together)
    high = max(entry.high for entry in together) - min(entry.low for entry in together)
    n = sum(_whole(counts).values())
    return Interval(estimate, max(0.0, low), high, level, "bonferroni", n)


def group_entropy_interval(
    counts: Mapping[str, int],
    *,
    level: float,
    seed: int = 0,  # noqa: ARG001 - nothing is drawn
    draws: int = 2000,
) -> Interval:
    """Return the normalised entropy of the groups, with an interval.

    The range over all shares in their simultaneous exact intervals (Bonferroni, for each end by
    itself): either end misses with at most half of 1 - level, for any shares.
    """
    check_resampling(level, draws)
    estimate, numbers = group_entropy(counts), _whole(counts)
    total = sum(numbers.values())
    if len(numbers) == 2:  # noqa: PLR2004 - one share determines both
        share = blaker(next(iter(numbers.values())), total, level)
        return _of_two(estimate, _entropies, 1.0, share)
    group_level = 1.0 - (1.0 - level) / 2.0 / len(numbers)
    low, high = _entropy_range(list(group_intervals(counts, group_level).values()))
    return containing(estimate, (low, high), level, "bonferroni", total)


def _entropy_range(shares: Sequence[Interval]) -> tuple[float, float]:
    """Return bounds of the normalised entropy over all shares in these intervals that sum to 1.

    The most even shares are cut at one value; for the least, chords replace -p log p from below.
    """
    low, high = (np.array([getattr(share, end) for share in shares]) for end in ("low", "high"))
    level = scipy.optimize.brentq(lambda at: np.clip(at, low, high).sum() - 1.0, 0.0, 1.0)
    most = _entropies(np.clip(level, low, high)[None])[0]
    parts = [_surprise(ends) for ends in (low, high)]
    width = np.maximum(high - low, 1e-12)
    rise = (parts[1] - parts[0]) / width
    left, least = 1.0 - low.sum(), parts[0].sum()
    for place in np.argsort(rise):
        filled = min(width[place], max(left, 0.0))
        left, least = left - filled, least + filled * rise[place]
    return max(0.0, float(least / np.log(len(shares)))), min(1.0, float(most))


def group_diversity_interval(
    counts: Mapping[str, int], *, level: float, seed: int, draws: int = 2000
) -> Interval:
    """Return Simpson's diversity of the groups, with an interval for all images of a prompt.

    Two groups by the exact interval of a share; more by Dirichlet draws with one image more on
    either side; the largest value where chance explains the counts (chi-square test;
    tests/simulations/group_diversity.md).
    """
    check_resampling(level, draws)
    estimate, tail = group_diversity(counts), (1.0 - level) / 2.0
    numbers, most = np.array(list(_whole(counts).values())), 1.0 - 1.0 / len(counts)
    if len(numbers) == 2:  # noqa: PLR2004 - one share determines both
        share = blaker(int(numbers[0]), int(numbers.sum()), level)
        return _of_two(estimate, _diversities, most, share)
    rng = np.random.default_rng(seed)
    fewer = numbers + (np.arange(len(numbers)) == numbers.argmax())
    low, _ = percentiles(_diversities(rng.dirichlet(fewer[fewer > 0], size=draws)), tail)
    _, high = percentiles(_diversities(rng.dirichlet(numbers + 1, size=draws)), tail)
    if float(scipy.stats.chisquare(numbers).pvalue) > tail:
        high = most
    return containing(estimate, (low, high), level, "dirichlet", int(numbers.sum()))


def _of_two(
    estimate: float, index: Callable[[inputs.Floats], inputs.Floats], most: float, share: Interval
) -> Interval:
    """Return the interval of an index that grows up to ``most`` at one half, then falls."""
    ends = index(np.array([[end, 1.0 - end] for end in (share.low, share.high)]))
    high = most if share.low <= EVEN <= share.high else float(ends.max())
    return containing(estimate, (float(ends.min()), high), share.level, share.method, share.n)


def _diversities(shares: inputs.Floats) -> inputs.Floats:
    """Return the probability that two images differ, for each row."""
    return np.asarray(1.0 - np.sum(shares**2, axis=1))


def _entropies(shares: inputs.Floats) -> inputs.Floats:
    """Return the normalised entropy of each row."""
    return np.asarray(_surprise(shares).sum(axis=1) / np.log(shares.shape[1]))


def _surprise(shares: inputs.Floats) -> inputs.Floats:
    """Return -p log p of each share."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-shares * logs)


def _whole(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: int(inputs.whole_counts(f"counts[{name!r}]", n)) for name, n in counts.items()}
