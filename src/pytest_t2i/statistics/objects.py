"""Intervals and tests for objects in triplets, with the triplet as the unit (Wu section 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, object_independence
from pytest_t2i.statistics.inversion import (
    check_alternative,
    check_resampling,
    expanded_tail,
    percentiles,
)
from pytest_t2i.statistics.shares import containing, share_interval

RESAMPLES = 10_000
"""Number of resamples. The smallest p-value is its reciprocal, so a hundred objects can share an
error level of 5 %."""
PERMUTATIONS = 2_000
FAIR = 0.5
LEAST_TRIPLETS = 2


def object_bias_intervals(
    masculine: npt.ArrayLike,
    feminine: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> list[Interval | None]:
    """Return object bias scores with intervals by a bootstrap of triplets.

    Whole triplets are drawn with replacement, since their images share words and seeds. One
    pseudo-triplet takes part, which has the object once with either gender, with equal probability:
    where all occurrences are with one gender, plain resampling would show no spread.

    Args:
        masculine: occurrences in the masculine images of each triplet, [n_triplets, n_objects].
        feminine: occurrences in the feminine images of each triplet, of the same shape.
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of bootstrap resamples, at least 100.

    Returns:
        The score (Wu eq. 5) of each object with its interval, where n is the number of triplets;
        None for an object that occurs with neither gender.

    Raises:
        ValueError: shapes differ, fewer than two triplets, a negative count, or an option is out
            of range.

    >>> men, women = [[1]] * 8 + [[0]] * 12, [[0]] * 18 + [[1]] * 2
    >>> tie = object_bias_intervals(men, women, level=0.9, seed=0)[0]
    >>> tie.estimate, 0.5 <= tie.low < 0.8 < tie.high <= 1.0
    (0.8, True)
    """
    check_resampling(level, resamples)
    men, women = _counts(masculine, feminine)
    weights = _drawn(len(men), resamples, seed)
    pairs = np.stack([men.T, women.T], axis=1)
    return [_interval(m, f, weights, level) if m.sum() + f.sum() else None for m, f in pairs]


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

    The larger of the bootstrap of triplets and Student's t of (1 - b) m_i - b f_i
    (tests/simulations/few_triplets.md); beyond the bound also of the permutation test that swaps
    genders within triplets, which is exact for any number of occurrences.
    """
    check_alternative(alternative)
    limit = float(inputs.in_range("bound", bound, FAIR, 1.0))
    men, women = _counts(masculine, feminine)
    weights = _drawn(len(men), RESAMPLES, seed)
    # The score exceeds the bound on the observed side; the other side is the mirror image.
    favoured = men.sum(axis=0) >= women.sum(axis=0)
    more, fewer = np.where(favoured, men, women), np.where(favoured, women, men)
    beyond = _exceeding(more, fewer, limit, weights)
    student = _student((1.0 - limit) * more - limit * fewer)
    if alternative == "less":
        within = np.maximum(1.0 - beyond, student)
        return np.where(more.sum(axis=0) > 0, within, 1.0)
    beyond = np.maximum(beyond, 1.0 - student)
    swapped = _permuted(more, fewer, seed, paired)
    return np.maximum(np.minimum(1.0, 2.0 * beyond), swapped)


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
    exchangeable. So objects may depend on each other, which Pearson's own p-value does not allow.

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


def _drawn(triplets: int, resamples: int, seed: int) -> inputs.Floats:
    """Return how often each triplet is drawn, [resamples, n_triplets + 2 pseudo-triplets]."""
    chance = np.append(np.ones(triplets), np.full(2, 0.5)) / (triplets + 1.0)
    times = np.random.default_rng(seed).multinomial(triplets, chance, size=resamples)
    return times.astype(np.float64)


def _interval(
    men: inputs.Floats, women: inputs.Floats, weights: inputs.Floats, level: float
) -> Interval:
    estimate = float(men.sum() / (men.sum() + women.sum()))
    with_men, with_women = weights @ np.append(men, [1, 0]), weights @ np.append(women, [0, 1])
    total = with_men + with_women
    scores = np.divide(with_men, total, out=np.full_like(total, FAIR), where=total > 0)
    ends = percentiles(scores, expanded_tail(len(men), level))
    return containing(estimate, ends, level, "triplet-bootstrap", len(men))


def _exceeding(
    more: inputs.Floats, fewer: inputs.Floats, bound: float, weights: inputs.Floats
) -> inputs.Floats:
    """Return the bootstrap probability that the score is at most the bound, per object."""
    ends = np.repeat([[1.0 - bound], [-bound]], more.shape[1], axis=1)
    excess = weights @ np.concatenate([(1.0 - bound) * more - bound * fewer, ends])
    return np.asarray((1.0 + np.sum(excess <= 0, axis=0)) / (1.0 + len(weights)), dtype=np.float64)


def _student(excess: inputs.Floats) -> inputs.Floats:
    """Return Student's probability of so small a mean over triplets if it is 0, per object."""
    n, mean = len(excess), excess.mean(axis=0)
    error = excess.std(axis=0, ddof=1) / np.sqrt(n)
    # Triplets that all agree have a standard error of 0; the sign of their mean decides.
    ratio = np.divide(mean, error, out=np.copysign(np.inf, mean), where=error > 0)
    return np.asarray(scipy.stats.t.cdf(np.where(mean == 0.0, 0.0, ratio), n - 1), dtype=np.float64)


def _permuted(more: inputs.Floats, fewer: inputs.Floats, seed: int, paired: bool) -> inputs.Floats:
    """Return two-sided p-values of genders swapped within triplets, or dealt anew, per object."""
    rng, observed = np.random.default_rng([seed, 1]), np.abs((more - fewer).sum(axis=0))
    if paired:
        units = more - fewer
        signs = rng.choice([-1.0, 1.0], size=(RESAMPLES, len(units)))
    else:
        units, sides = np.concatenate([more, fewer]), np.repeat([1.0, -1.0], len(more))
        signs = np.array([rng.permutation(sides) for _ in range(RESAMPLES)])
    extreme = np.sum(np.abs(signs @ units) >= observed - 1e-9, axis=0)
    return np.asarray((1.0 + extreme) / (1.0 + RESAMPLES), dtype=np.float64)
