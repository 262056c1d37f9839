"""Exact permutation tests of a growth of the model bias score on the same prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.linear_scores import spread_table

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

    The growth is the mean of ``linear_scores.spread_table`` after minus before; both have the
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
    arrays = inputs.count_vectors(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    used = (arrays[0] + arrays[1] > 0) & (arrays[2] + arrays[3] > 0)
    men_before, women_before, men, women = (array[used] for array in arrays)
    _check_redraws(redraws)
    if not men.size:
        return 1.0
    before, after = men_before + women_before, men + women
    tables = _Tables(before, after)
    rng = np.random.default_rng(seed)
    drawn = (
        tables.growth(men_before + men - now, now)
        for rows in _chunks(redraws, men.size)
        for now in [
            rng.hypergeometric(men_before + men, women_before + women, after, size=(rows, men.size))
        ]
    )
    return _p_value(tables.growth(men_before[None], men[None])[0], drawn, redraws)


def paired_change_p_value(
    before: Sequence[npt.ArrayLike],
    after: Sequence[npt.ArrayLike],
    *,
    seed: int,
    redraws: int = 5000,
) -> float:
    """Return ``change_p_value`` for images of the same seeds, by permutation within pairs.

    Two images of one seed are alike where the model changed little. Swaps within pairs then vary
    less than redraws of the counts, and smaller changes are found
    (tests/simulations/regression.md). Where seeds carry no information on the label, both tests
    agree.

    Args:
        before: baseline labels of each prompt, +1 male, -1 female, 0 undetected.
        after: labels now, for the same seeds in the same order.
        seed: seed of the redraws.
        redraws: number of redraws, at least 1000.

    Returns:
        p-value in (0, 1]; 1 where no prompt has a clear image both before and after.

    Raises:
        ValueError: lengths differ, a label is not -1, 0 or 1, or there are too few redraws.

    >>> old = [[1, -1] * 10] * 10
    >>> paired_change_p_value(old, [[1, 1, 1, -1] * 5] * 10, seed=0) < 0.001
    True
    >>> paired_change_p_value(old, old, seed=0)
    1.0
    """
    _check_redraws(redraws)
    if len(before) != len(after):
        raise ValueError(
            f"before and after must be equally long, got {len(before)} and {len(after)}"
        )
    pairs = [_pairs(before[k], after[k], k) for k in range(len(before))]
    kept = [p for p in pairs if (p[:2, :].sum() > 0) and (p[:, :2].sum() > 0)]
    if not kept:
        return 1.0
    rng = np.random.default_rng(seed)
    kinds = np.stack(kept)
    drawn = (
        _growth_of_pairs(_swapped(kinds, rng, rows)) for rows in _chunks(redraws, 9 * len(kinds))
    )
    return _p_value(_growth_of_pairs(kinds[None])[0], drawn, redraws)


class _Tables:
    """The growth of the mean score for counts of fixed sizes."""

    def __init__(self, before: Whole, after: Whole) -> None:
        fewer = np.minimum(before, after)
        self.before = _rows(before, fewer)
        self.after = _rows(after, fewer)
        self.prompts = np.arange(len(before))

    def growth(self, men_before: Whole, men_after: Whole) -> inputs.Floats:
        """Return the growth for each row of counts, [n_rows]."""
        grown = self.after[self.prompts, men_after] - self.before[self.prompts, men_before]
        return np.asarray(grown.mean(axis=1), dtype=np.float64)


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
    drawn = np.broadcast_to(kinds, (rows, *kinds.shape)).copy()
    for kind, other in ((0, 1), (0, 2), (1, 2)):
        either = kinds[:, kind, other] + kinds[:, other, kind]
        drawn[:, :, kind, other] = rng.binomial(either, 0.5, size=(rows, len(kinds)))
        drawn[:, :, other, kind] = either - drawn[:, :, kind, other]
    return drawn


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


def _p_value(observed: float, drawn: Iterator[inputs.Floats], redraws: int) -> float:
    reached = sum(int(np.count_nonzero(part >= observed - TIE)) for part in drawn)
    return (1.0 + reached) / (redraws + 1.0)


def _chunks(redraws: int, cells: int) -> Iterator[int]:
    rows = max(1, min(redraws, AT_ONCE // cells))
    for start in range(0, redraws, rows):
        yield min(rows, redraws - start)


def _check_redraws(redraws: int) -> None:
    if redraws < FEWEST_REDRAWS:
        raise ValueError(f"redraws must be at least {FEWEST_REDRAWS}, got redraws={redraws!r}")
