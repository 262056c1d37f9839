"""Permutation test of a move away from even shares of groups, between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.shares.intervals import check_level

Labels = Sequence[npt.ArrayLike]
"""Group of every image of each prompt, 0 to groups - 1, or -1 for undetected."""
FEWEST_REDRAWS = 1000
AT_ONCE = 2_000_000
"""Redrawn labels held in memory at a time."""
TIE = 1e-9
POWER = 0.8
"""Power for the growth that is reported as detectable."""


class GroupChange(NamedTuple):
    """The result of a permutation test of whether a model moved away from even shares.

    >>> GroupChange(0.4, 0.06).found
    0.06
    """

    p_value: float
    """p-value against "the model is the same as before", for a growth of its distance; in (0,
    1]."""
    found: float
    """Growth that the test finds in about 80 % of runs at the given level."""


def group_change_test(
    before: Labels,
    after: Labels,
    groups: int,
    *,
    level: float,
    seed: int,
    shared_seeds: bool,
    redraws: int = 2000,
) -> GroupChange:
    """Test for a growth of the mean distance of prompts from even shares, by permutation.

    Under the null hypothesis no prompt's shares changed, so the images of a prompt before and after
    are exchangeable: within pairs of one seed, or among all images without shared seeds (Fisher
    1935). The statistic is the mean over prompts of the total variation distance from even shares,
    after minus before, each minus its expectation for even shares and that number of images.

    .. math:: p = (1 + number of redraws that grow at least as much) / (redraws + 1)

    Args:
        before: group of every recorded image, per prompt; -1 for undetected.
        after: group of every image now; with ``shared_seeds`` of the same seeds in the same order.
        groups: number of groups.
        level: one-sided level of the detectable growth.
        seed: seed of the redraws.
        shared_seeds: whether images at one index are a pair.
        redraws: number of redraws, at least 1000.

    Returns:
        The p-value and the detectable growth, over the prompts that have images with a label on
        both sides; 1 and 1 where no prompt has.

    Raises:
        ValueError: lengths differ, a group is unknown, or there are too few redraws.

    >>> old, new = [[0, 1, 2] * 8] * 6, [[0, 0, 1] * 8] * 6
    >>> group_change_test(old, new, 3, level=0.95, seed=0, shared_seeds=False).p_value < 0.01
    True
    """
    check_level(level)
    if redraws < FEWEST_REDRAWS:
        raise ValueError(f"redraws must be at least {FEWEST_REDRAWS}, got {redraws}")
    pairs = [
        (_groups(f"before[{k}]", old, groups), _groups(f"after[{k}]", new, groups))
        for k, (old, new) in enumerate(zip(before, after, strict=True))
    ]
    if shared_seeds:
        for k, (old, new) in enumerate(pairs):
            inputs.same_shape(**{f"before[{k}]": old, f"after[{k}]": new})
    used = [pair for pair in pairs if all(np.any(side >= 0) for side in pair)]
    if not used:
        return GroupChange(1.0, 1.0)
    rng = np.random.default_rng(seed)
    observed, drawn = 0.0, np.zeros(redraws)
    for old, new in used:
        observed += float(_growth(old[None], new[None], groups)[0])
        parts = [
            _growth(*sides, groups) for sides in _redrawn(old, new, rng, redraws, shared_seeds)
        ]
        drawn += np.concatenate(parts)
    beyond = int(np.sum(drawn >= observed - TIE))
    spread = float(np.std(drawn)) / len(used)
    found = (float(scipy.stats.norm.ppf(level)) + float(scipy.stats.norm.ppf(POWER))) * spread
    return GroupChange((1 + beyond) / (redraws + 1), min(1.0, found))


def _groups(name: str, given: npt.ArrayLike, groups: int) -> npt.NDArray[np.int64]:
    values = np.asarray(given)
    if np.any((values < -1) | (values >= groups)) or not np.all(values == np.round(values)):
        raise ValueError(f"{name} must hold -1 to {groups - 1}, got {values.tolist()[:5]}...")
    return values.astype(np.int64)


def _redrawn(
    old: npt.NDArray[np.int64],
    new: npt.NDArray[np.int64],
    rng: np.random.Generator,
    redraws: int,
    shared_seeds: bool,
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yield permuted images before and after, [n_rows, n_images] each."""
    both = np.concatenate([old, new])
    at_once = max(1, AT_ONCE // both.size)
    for start in range(0, redraws, at_once):
        rows = min(at_once, redraws - start)
        if shared_seeds:
            swapped = rng.random((rows, old.size)) < 0.5  # noqa: PLR2004 - a coin
            yield np.where(swapped, new, old), np.where(swapped, old, new)
        else:
            mixed = rng.permuted(np.broadcast_to(both, (rows, both.size)), axis=1)
            yield mixed[:, : old.size], mixed[:, old.size :]


def _growth(
    old: npt.NDArray[np.int64], new: npt.NDArray[np.int64], groups: int
) -> npt.NDArray[np.float64]:
    return _excess(new, groups) - _excess(old, groups)


def _excess(labels: npt.NDArray[np.int64], groups: int) -> npt.NDArray[np.float64]:
    """Return the distance from even shares of each row, minus its expectation for even shares."""
    counts = np.stack([np.sum(labels == group, axis=1) for group in range(groups)], axis=1)
    n = counts.sum(axis=1)
    seen = np.maximum(n, 1)
    distance = np.abs(counts / seen[:, None] - 1.0 / groups).sum(axis=1) / 2.0
    floors = even_floors(int(n.max()), groups)
    return np.where(n > 0, distance - floors[n], 0.0)


def even_floors(images: int, groups: int) -> npt.NDArray[np.float64]:
    """Return the expected distance from even shares of n images of even shares, for each n.

    The result is indexed by n = 0 to ``images``.

    >>> even_floors(2, 2).round(2).tolist()
    [0.0, 0.5, 0.25]
    """
    share = 1.0 / groups
    result = np.zeros(images + 1)
    for n in range(1, images + 1):
        k = np.arange(n + 1)
        one = float(scipy.stats.binom.pmf(k, n, share) @ np.abs(k / n - share))
        result[n] = groups * one / 2.0
    return result
