"""Intervals and tests for objects in triplets, with the triplet as the unit (Wu section 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import ROUNDING, Interval
from pytest_t2i.metrics import inputs, object_independence
from pytest_t2i.statistics.inversion import check_alternative, check_resampling
from pytest_t2i.statistics.shares import check_level, containing, share_interval

PERMUTATIONS = 2_000
SWAPS = 10_000
"""Number of swaps. The smallest p-value is its reciprocal, so a hundred objects can share an error
level of 5 %."""
FAIR = 0.5
LEAST_TRIPLETS = 2
SIZE = 1.1
"""Size of the least favourable triplet, in mean ones: with it, as many triplets that all show one
gender alone are needed for a FAIL as by the exact binomial test (0.9: 29), or one more."""
HALVINGS = 40
"""Steps of the bisection for an end: it is found to within 1/2 ** 40."""


def object_bias_intervals(
    masculine: npt.ArrayLike, feminine: npt.ArrayLike, *, level: float
) -> list[Interval | None]:
    r"""Return object bias scores with the intervals that decide verdicts.

    .. math:: t(s) = \frac{\sum_i m_i - s n_i}{\sqrt{N \operatorname{var}(m_i - s n_i)}},
       n_i = m_i + f_i

    An end is the score s at which Student's t of the N triplets reaches its quantile (Fieller
    1954). Triplets are the units, since their images share words and seeds; they are taken as
    independent. An end on the far side of 0.5 claims that an object is more one-sided than s. A few
    triplets that all lie on one side may hide one on the other (the t-test errs up to 0.45). There
    the triplets are those that show the object, and one more of about their mean size that lies on
    the other side: a least favourable observation, as in Gaffke's bound of a mean (2005). Where
    every triplet shows the object with one gender alone, this is nearly the exact binomial test of
    their number (tests/simulations/few_triplets.md).

    Args:
        masculine: occurrences in the masculine images of each triplet, [n_triplets, n_objects].
        feminine: occurrences in the feminine images of each triplet, of the same shape.
        level: confidence level in (0, 1).

    Returns:
        The score (Wu eq. 5) of each object with its interval, where n is the number of triplets;
        None for an object that occurs with neither gender.

    Raises:
        ValueError: shapes differ, fewer than two triplets, a negative count, or the level is out of
            range.

    >>> men, women = [[1]] * 8 + [[0]] * 12, [[0]] * 18 + [[1]] * 2
    >>> print(object_bias_intervals(men, women, level=0.9)[0])
    0.800 [0.500, 1.000]
    """
    check_level(level)
    men, women = _counts(masculine, feminine)
    ends = _low_ends(men, women, level), 1.0 - _low_ends(women, men, level)
    total = men.sum(axis=0) + women.sum(axis=0)
    return [
        containing(float(k / n), (low, high), level, "student", len(men)) if n else None
        for k, n, low, high in zip(
            men.sum(axis=0), total, *(side.tolist() for side in ends), strict=True
        )
    ]


def object_bias_p_values(
    masculine: npt.ArrayLike,
    feminine: npt.ArrayLike,
    bound: float,
    *,
    seed: int,
    alternative: Literal["greater", "less"] = "greater",
    paired: bool = True,
) -> inputs.Floats:
    """Return one-sided p-values of folded object bias scores, max(BS, 1 - BS), against a bound.

    They are those of the ends of ``object_bias_intervals``: "less" on the observed side, "greater"
    the sum of both sides, and then at least that of the permutation test that swaps genders within
    triplets, which is exact for any number of occurrences.
    """
    check_alternative(alternative)
    limit = float(inputs.in_range("bound", bound, FAIR, 1.0))
    men, women = _counts(masculine, feminine)
    # The score exceeds the bound on the observed side; the other side is the mirror image.
    favoured = men.sum(axis=0) >= women.sum(axis=0)
    more, fewer = np.where(favoured, men, women), np.where(favoured, women, men)
    at, mirrored = (np.full(more.shape[1], share) for share in (limit, 1.0 - limit))
    if alternative == "less":
        return np.where(more.sum(axis=0) > 0, _above(fewer, more, mirrored), 1.0)
    both = np.minimum(1.0, _above(more, fewer, at) + _above(more, fewer, mirrored))
    return np.maximum(both, _permuted(more, fewer, seed, paired))


def independence_p_value(
    counts: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    permutations: int = PERMUTATIONS,
    paired: bool = True,
) -> Interval:
    """Return the p-value of the chi-square statistic by permutation of variants within triplets.

    Under the null hypothesis "the variant has no effect", the variants of a triplet's images are
    exchangeable (Fisher 1935), and triplets independent. So objects may depend on each other, which
    Pearson's own p-value does not allow.

    Args:
        counts: occurrences, [n_triplets, 2 or 3 variants, n_objects].
        level: level of the interval for the random permutations, in (0, 1).
        seed: seed of the permutations.
        permutations: number of random permutations, at least 100.
        paired: whether the images of a triplet share their noise; else they are independent images
            of one prompt, and variants are permuted over all of them.

    Returns:
        The p-value, (1 + as extreme) / (1 + drawn), with a Clopper-Pearson interval of the p-value
        over all permutations; n is the number of triplets.

    Raises:
        ValueError: as in ``metrics.object_independence``, another shape, or an option out of range.

    >>> rng = np.random.default_rng(0)
    >>> alike = rng.integers(0, 3, (20, 3, 5))
    >>> independence_p_value(alike, level=0.95, seed=0).estimate > 0.05
    True
    """
    check_resampling(level, permutations)
    table = inputs.counts("counts", counts)
    if table.ndim != 3 or len(table) < LEAST_TRIPLETS:  # noqa: PLR2004 - triplets, variants, objects
        raise ValueError(
            "counts must be [2 or more triplets, 2 or 3 variants, n_objects], got "
            f"counts.shape={table.shape}"
        )
    observed = object_independence(table.sum(axis=0)).statistic
    table = table[:, :, table.sum(axis=(0, 1)) > 0]
    rng = np.random.default_rng(seed)
    shuffled = (_shuffled(table, rng, paired).sum(axis=0) for _ in range(permutations))
    extreme = sum(_statistic(sums) >= observed - 1e-9 for sums in shuffled)
    ends = share_interval(extreme, permutations, level)
    estimate = (1 + extreme) / (1 + permutations)
    return containing(estimate, (ends.low, ends.high), level, "permutation", len(table))


def _shuffled(table: inputs.Floats, rng: np.random.Generator, paired: bool) -> inputs.Floats:
    if not paired:
        return rng.permutation(table.reshape(-1, table.shape[2])).reshape(table.shape)
    order = rng.permuted(np.tile(np.arange(table.shape[1]), (len(table), 1)), axis=1)
    return np.take_along_axis(table, order[:, :, None], axis=1)


def _statistic(table: inputs.Floats) -> float:
    rows = table.sum(axis=1, keepdims=True)
    if not np.all(rows):
        return float("inf")
    margins = rows * table.sum(axis=0, keepdims=True) / table.sum()
    return float(np.sum((table - margins) ** 2 / margins))


def _counts(
    masculine: npt.ArrayLike, feminine: npt.ArrayLike
) -> tuple[inputs.Floats, inputs.Floats]:
    men, women = inputs.counts("masculine", masculine), inputs.counts("feminine", feminine)
    inputs.same_shape(masculine=men, feminine=women)
    if men.ndim != 2 or len(men) < LEAST_TRIPLETS:  # noqa: PLR2004 - triplets and objects
        raise ValueError(
            f"masculine must be [2 or more triplets, n_objects], got masculine.shape={men.shape}"
        )
    return men, women


def _low_ends(more: inputs.Floats, fewer: inputs.Floats, level: float) -> inputs.Floats:
    """Return the largest share that is rejected as the largest possible, per object."""
    low, high = np.zeros(more.shape[1]), np.ones(more.shape[1])
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        rejected = _above(more, fewer, middle) <= (1.0 - level) / 2.0
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return low


def _above(more: inputs.Floats, fewer: inputs.Floats, share: inputs.Floats) -> inputs.Floats:
    """Return Student's p-value against "the score is at most the share", per object.

    From 0.5 on with a triplet on the other side; below, of all triplets as they are.
    """
    total, has_other = more + fewer, share >= FAIR
    excess = more - share * total
    shown = np.maximum(1, np.count_nonzero(total, axis=0))
    other = np.where(has_other, -SIZE * share * total.sum(axis=0) / shown, 0.0)
    n = np.where(has_other, shown + 1, len(more))
    mean = (excess.sum(axis=0) + other) / n
    # Triplets that all agree would have no spread; one occurrence more has that of a coin.
    squares = np.sum(excess**2, axis=0) + other**2 - n * mean**2 + share * (1.0 - share)
    error = np.sqrt(np.maximum(squares, ROUNDING) / np.maximum(n - 1, 1) / n)
    p = scipy.stats.t.sf(mean / error, np.maximum(1, n - 1 - has_other))
    return np.where(has_other & (shown < LEAST_TRIPLETS), 1.0, p)


def _permuted(more: inputs.Floats, fewer: inputs.Floats, seed: int, paired: bool) -> inputs.Floats:
    """Return two-sided p-values of genders swapped within triplets, or dealt anew, per object."""
    rng, observed = np.random.default_rng([seed, 1]), np.abs((more - fewer).sum(axis=0))
    if paired:
        units = more - fewer
        signs = rng.choice([-1.0, 1.0], size=(SWAPS, len(units)))
    else:
        units, sides = np.concatenate([more, fewer]), np.repeat([1.0, -1.0], len(more))
        signs = np.array([rng.permutation(sides) for _ in range(SWAPS)])
    extreme = np.sum(np.abs(signs @ units) >= observed - 1e-9, axis=0)
    return np.asarray((1.0 + extreme) / (1.0 + SWAPS), dtype=np.float64)
