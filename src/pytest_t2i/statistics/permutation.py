"""Exact permutation tests of "the model is the same as before", for genders and for groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.change import four_vectors, spread_table
from pytest_t2i.statistics.distances import expected_distance
from pytest_t2i.statistics.inversion import permutation_p_value

Whole = npt.NDArray[np.int64]

BALANCE = 30
"""Number of prompts for which the statistic's tables balance bias and noise. The test is valid for
any number; 30 has the most power against few prompts that changed much
(tests/simulations/regression.md)."""
FEWEST_REDRAWS = 1000
AT_ONCE = 500_000
"""Redrawn counts held in memory at a time."""
TIE = 1e-9


def change_p_value(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    seed: int,
    redraws: int = 5000,
) -> float:
    """Return the exact p-value against "the model is the same", for a growth of its bias score.

    Under the null hypothesis no prompt's share changed, so the images of a prompt before and after
    are exchangeable. The counts after are redrawn prompt by prompt (hypergeometric), and the growth
    of the score compared with the observed one (Fisher 1935; Phipson and Smyth 2010). So the error
    level holds for any number of prompts and of images, unequal ones included.

    .. math:: p = (1 + number of redraws that grow at least as much) / (redraws + 1)

    The growth is the mean of ``spread_table`` after minus before; both have the
    expectation for the smaller count.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        seed: seed of the redraws.
        redraws: number of redraws, at least 1000.

    Returns:
        p-value in (0, 1]; 1 where no prompt has a clear image both before and after.

    Raises:
        ValueError: shapes differ, a count is no whole number, or there are too few redraws.

    >>> change_p_value([10] * 10, [10] * 10, [16] * 10, [4] * 10, seed=0) < 0.001
    True
    >>> change_p_value([16] * 10, [4] * 10, [10] * 10, [10] * 10, seed=0) > 0.99
    True
    """
    arrays = four_vectors(before_male, before_female, after_male, after_female)
    used = (arrays[0] + arrays[1] > 0) & (arrays[2] + arrays[3] > 0)
    men_before, women_before, men, women = (array[used] for array in arrays)
    _check_redraws(redraws)
    if not men.size:
        return 1.0
    before, after = men_before + women_before, men + women
    prompts, fewer = np.arange(men.size), np.minimum(before, after)
    tables = _rows(before, fewer), _rows(after, fewer)

    def growth(men_after: Whole) -> inputs.Floats:
        grown = tables[1][prompts, men_after] - tables[0][prompts, men_before + men - men_after]
        return np.asarray(grown.mean(axis=1), dtype=np.float64)

    rng = np.random.default_rng(seed)
    urn = men_before + men, women_before + women, after
    growths = (
        growth(rng.hypergeometric(*urn, size=(rows, men.size)))
        for rows in _chunks(redraws, men.size)
    )
    return permutation_p_value(growth(men[None])[0] - TIE, growths)


def paired_change_p_value(
    before: Sequence[npt.ArrayLike],
    after: Sequence[npt.ArrayLike],
    *,
    seed: int,
    redraws: int = 5000,
) -> float:
    """Return ``change_p_value`` for images of the same seeds, by permutation within pairs.

    Swaps vary less than redraws where two images of one seed are alike.
    """
    _check_redraws(redraws)
    if len(before) != len(after):
        raise ValueError(
            f"before and after must be equally long, got {len(before)} and {len(after)}"
        )
    pairs = [_pairs(before[k], after[k], k) for k in range(len(before))]
    used = [p for p in pairs if (p[:2, :].sum() > 0) and (p[:, :2].sum() > 0)]
    if not used:
        return 1.0
    rng, kinds = np.random.default_rng(seed), np.stack(used)
    growths = (
        _growth_of_pairs(_swapped(kinds, rng, rows)) for rows in _chunks(redraws, 9 * len(kinds))
    )
    return permutation_p_value(_growth_of_pairs(kinds[None])[0] - TIE, growths)


def _rows(n: Whole, fewer: Whole) -> inputs.Floats:
    """Return the table of each prompt, padded to the longest, [n_prompts, n + 1]."""
    rows = np.zeros((len(n), int(n.max()) + 1))
    for row, (size, least) in enumerate(np.stack([n, fewer], axis=1).tolist()):
        rows[row, : size + 1] = spread_table(size, least, BALANCE)
    return rows


def _growth_of_pairs(kinds: Whole) -> inputs.Floats:
    """Return the growth of the mean score from counts of pairs, [n_rows].

    ``kinds`` is [n_rows, n_prompts, 3 before, 3 after], each 3 male, female and undetected. A side
    without a clear image scores 0.
    """
    before, after = kinds.sum(axis=3), kinds.sum(axis=2)
    clear_before, clear_after = before[..., :2].sum(axis=2), after[..., :2].sum(axis=2)
    n = np.arange(1, int(max(clear_before.max(), clear_after.max())) + 1)
    table = np.concatenate([np.zeros((1, len(n) + 1)), _rows(n, n)])
    grown = table[clear_after, after[..., 0]] - table[clear_before, before[..., 0]]
    return np.asarray(grown.mean(axis=1), dtype=np.float64)


def _swapped(kinds: Whole, rng: np.random.Generator, rows: int) -> Whole:
    """Return ``rows`` copies in which the two images of each pair are swapped at random."""
    copies = np.broadcast_to(kinds, (rows, *kinds.shape)).copy()
    for kind, second in ((0, 1), (0, 2), (1, 2)):
        discordant_pairs = kinds[:, kind, second] + kinds[:, second, kind]
        copies[:, :, kind, second] = rng.binomial(discordant_pairs, 0.5, size=(rows, len(kinds)))
        copies[:, :, second, kind] = discordant_pairs - copies[:, :, kind, second]
    return copies


def _pairs(before: npt.ArrayLike, after: npt.ArrayLike, number: int) -> Whole:
    """Count the seeds by their label before (row: male, female, undetected) and after (column)."""
    labels = {f"before[{number}]": before, f"after[{number}]": after}
    old, new = (_labels(name, values) for name, values in labels.items())
    inputs.same_shape(**{f"before[{number}]": old, f"after[{number}]": new})
    place = np.array([2, 0, 1])  # of 0, 1 and -1
    return np.bincount(3 * place[old] + place[new], minlength=9).reshape(3, 3)


def _labels(name: str, values: npt.ArrayLike) -> Whole:
    array = inputs.in_range(name, values, -1.0, 1.0)
    inputs.one_dimensional(**{name: array})
    if np.any(array != np.round(array)):
        raise ValueError(f"{name} must hold 1, -1 or 0, got {name}={array.tolist()}")
    return array.astype(np.int64)


def _chunks(redraws: int, cells: int, at_once: int = AT_ONCE) -> Iterator[int]:
    rows = max(1, min(redraws, at_once // cells))
    for start in range(0, redraws, rows):
        yield min(rows, redraws - start)


def _check_redraws(redraws: int) -> None:
    if redraws < FEWEST_REDRAWS:
        raise ValueError(f"redraws must be at least {FEWEST_REDRAWS}, got redraws={redraws!r}")


Labels = Sequence[npt.ArrayLike]
"""Group of every image of each prompt, 0 to groups - 1, or -1 for undetected."""
LABELS_AT_ONCE = 2_000_000
"""Redrawn labels held in memory at a time."""


def group_change_p_value(
    before: Labels,
    after: Labels,
    groups: int,
    *,
    seed: int,
    shared_seeds: bool,
    redraws: int = 2000,
) -> float:
    """Return the p-value of a growth of the mean distance from even shares, by permutation.

    Images are exchangeable within pairs of one seed, or all of a prompt (Fisher 1935). The
    statistic is the mean distance, minus its expectation for even shares, after minus before.
    """
    _check_redraws(redraws)
    pairs = [
        (_groups(f"before[{k}]", old, groups), _groups(f"after[{k}]", new, groups))
        for k, (old, new) in enumerate(zip(before, after, strict=True))
    ]
    if shared_seeds:
        for k, (old, new) in enumerate(pairs):
            inputs.same_shape(**{f"before[{k}]": old, f"after[{k}]": new})
    used = [pair for pair in pairs if all(np.any(side >= 0) for side in pair)]
    if not used:
        return 1.0
    rng = np.random.default_rng(seed)
    observed, growths = 0.0, np.zeros(redraws)
    for old, new in used:
        observed += float((_excess(new[None], groups) - _excess(old[None], groups))[0])
        redrawn = _redrawn(old, new, rng, redraws, shared_seeds)
        growths += np.concatenate([_excess(b, groups) - _excess(a, groups) for a, b in redrawn])
    return permutation_p_value(observed - TIE, [growths])


def _groups(name: str, labels: npt.ArrayLike, groups: int) -> Whole:
    values = np.asarray(labels)
    if np.any((values < -1) | (values >= groups)) or not np.all(values == np.round(values)):
        raise ValueError(f"{name} must hold -1 to {groups - 1}, got {values.tolist()[:5]}...")
    return values.astype(np.int64)


def _redrawn(
    old: Whole, new: Whole, rng: np.random.Generator, redraws: int, shared_seeds: bool
) -> Iterator[tuple[Whole, Whole]]:
    """Yield permuted images before and after, [n_rows, n_images] each."""
    labels = np.concatenate([old, new])
    for rows in _chunks(redraws, labels.size, LABELS_AT_ONCE):
        if shared_seeds:
            swapped = rng.random((rows, old.size)) < 0.5  # noqa: PLR2004 - a coin
            yield np.where(swapped, new, old), np.where(swapped, old, new)
        else:
            mixed = rng.permuted(np.broadcast_to(labels, (rows, labels.size)), axis=1)
            yield mixed[:, : old.size], mixed[:, old.size :]


def _excess(labels: Whole, groups: int) -> inputs.Floats:
    """Return the distance from even shares of each row, minus its expectation for even shares."""
    counts = np.stack([np.sum(labels == group, axis=1) for group in range(groups)], axis=1)
    n = counts.sum(axis=1)
    distance = np.abs(counts / np.maximum(n, 1)[:, None] - 1.0 / groups).sum(axis=1) / 2.0
    floors = even_floors(int(n.max()), groups)
    return np.where(n > 0, distance - floors[n], 0.0)


def even_floors(images: int, groups: int) -> inputs.Floats:
    """Return the expected distance of n images of even shares from these, for each n up to all."""
    share = np.array([1.0 / groups])
    distances = [expected_distance(n, share[0], share)[0] for n in range(1, images + 1)]
    return groups * np.array([0.0, *distances]) / 2.0
