"""Ranks of several models by their bias, with confidence bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.change import FEWEST_IMAGES
from pytest_t2i.statistics.model.fixed_words import FixedWords
from pytest_t2i.statistics.shares.intervals import check_level

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of one model among several, 1 for the least biased.

    >>> Rank(low=1, high=2, least_biased=None, most_biased=0.1).high
    2
    """

    low: int
    """Best rank that is plausible at the level."""
    high: int
    """Worst rank that is plausible at the level."""
    least_biased: float | None
    """Probability that the model is the least biased: a lower bound where the first rank is the
    only plausible one, an upper bound where the first rank is implausible, else None.
    """
    most_biased: float | None
    """The same for the most biased rank."""


def ranking(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    draws: int = 10_000,
) -> list[Rank]:
    """Return the ranks of models by their model bias score on the same prompts.

    |2p - 1| has no unbiased estimator, and the score is only partially identified: it lies between
    the expectations of two means of functions of the counts, for any distribution of bias over the
    prompts (``model.bounding``). Both means are drawn with their normal sampling error. A model
    certainly ranks behind another where its lower mean lies above the other's upper mean; every
    other order is plausible.

    .. math:: E c_below <= score <= E c_above, each ~ N(mean of c, sum of Var c / n_prompts^2)

    So models with equal scores are separated in few runs, for any distributions of bias and any
    number of images (tests/simulations/ranking.md).

    Prompts without two clear images of every model are left out.

    Args:
        male: clear male images, [n_models, n_prompts], two models or more.
        female: clear female images, [n_models, n_prompts].
        level: confidence level of each model's ranks, in (0, 1).
        seed: seed of the draws.
        draws: number of draws of the scores, at least 1000.

    Returns:
        One Rank for each model, in order.

    Raises:
        ValueError: shapes differ, there are fewer than two models, or no prompt can be compared.

    >>> fair, biased = [10] * 20, [19] * 20
    >>> first, second = ranking([fair, biased], [[10] * 20, [1] * 20], level=0.95, seed=0)
    >>> (first.low, first.high), (second.low, second.high)
    ((1, 1), (2, 2))
    """
    men, women = _comparable(male, female)
    known = [FixedWords.of(*counts) for counts in zip(men, women, strict=True)]
    ends = [(one.below, one.above) for one in known]
    return ranks_between(ends, level=level, seed=seed, draws=draws)


def ranks_between(
    ends: Sequence[tuple[tuple[float, float], tuple[float, float]]],
    *,
    level: float,
    seed: int,
    draws: int,
) -> list[Rank]:
    """Return the ranks of values that lie between two bounds, each with a normal error.

    Args:
        ends: (lower bound, its standard error), (upper bound, its standard error) of each model.
        level: confidence level of each model's ranks, in (0, 1).
        seed: seed of the draws.
        draws: number of draws of the bounds, at least 1000.

    Returns:
        One Rank for each model, in order.

    Raises:
        ValueError: an option is out of range.

    >>> ends = [((0.1, 0.01), (0.2, 0.01)), ((0.5, 0.01), (0.6, 0.01))]
    >>> [rank.low for rank in ranks_between(ends, level=0.95, seed=0, draws=1000)]
    [1, 2]
    """
    check_level(level)
    if draws < 1000:  # noqa: PLR2004 - fewer give probabilities to a few percent only
        raise ValueError(f"draws must be at least 1000, got draws={draws!r}")
    normal = np.random.default_rng(seed).normal(size=(draws, len(ends)))
    values = np.array(ends)
    below, above = (values[:, side, 0] + normal * values[:, side, 1] for side in (0, 1))
    lower, upper = np.minimum(below, above), np.maximum(below, above)
    tail = (1.0 - level) / 2.0
    return [_rank(*_places(lower, upper, k), len(ends), tail) for k in range(len(ends))]


def groups_differ_p_value(counts: npt.ArrayLike, *, seed: int) -> float:
    """Return the p-value against "this prompt's images have the same group shares by every model".

    The test is Fisher's exact test of models by groups, two-sided; for more than two models or
    groups by Monte Carlo, with 9,999 random tables of the same margins.

    Args:
        counts: images by model and group, [n_models, n_groups].
        seed: seed of the random tables.

    Returns:
        p-value in (0, 1]; 1 where fewer than two models have an image, or all images of all models
        show one group.

    Raises:
        ValueError: counts are not two-dimensional, or one is no whole number.

    >>> groups_differ_p_value([[10, 0, 0], [0, 5, 5]], seed=0) < 0.001
    True
    """
    shown = np.asarray(counts)
    if shown.ndim != 2:  # noqa: PLR2004 - models and groups
        raise ValueError(f"counts must be [n_models, n_groups], got counts.shape={shown.shape}")
    table = np.stack([inputs.whole_counts(f"counts[{k}]", row) for k, row in enumerate(shown)]).T
    table = table[:, table.sum(axis=0) > 0][table.sum(axis=1) > 0]
    if min(table.shape) < 2:  # noqa: PLR2004 - models and groups
        return 1.0
    if table.shape == (2, 2):
        return float(scipy.stats.fisher_exact(table).pvalue)
    random = scipy.stats.MonteCarloMethod(rng=np.random.default_rng(seed))
    return float(scipy.stats.fisher_exact(table, method=random).pvalue)


def _comparable(male: npt.ArrayLike, female: npt.ArrayLike) -> tuple[Whole, Whole]:
    arrays = []
    for name, values in (("male", male), ("female", female)):
        rows = [inputs.whole_counts(name, row) for row in np.atleast_2d(np.asarray(values))]
        arrays.append(np.stack(rows))
    men, women = arrays
    if men.shape != women.shape or len(men) < 2:  # noqa: PLR2004 - models
        raise ValueError(
            "male and female must be of one shape [n_models, n_prompts] with two models or more, "
            f"got {men.shape} and {women.shape}"
        )
    used = ((men + women) >= FEWEST_IMAGES).all(axis=0)
    if not used.any():
        raise ValueError(f"no prompt of {used.size} has two clear images of every model")
    return men[:, used], women[:, used]


def _places(lower: inputs.Floats, upper: inputs.Floats, k: int) -> tuple[Whole, Whole]:
    """Return the best and the worst rank of a model in each draw."""
    others = np.arange(lower.shape[1]) != k
    best = 1 + np.sum(upper[:, others] < lower[:, [k]], axis=1)
    worst = 1 + np.sum(lower[:, others] <= upper[:, [k]], axis=1)
    return best, worst


def _rank(best: Whole, worst: Whole, models: int, tail: float) -> Rank:
    low = int(np.quantile(best, tail, method="lower"))
    high = int(np.quantile(worst, 1.0 - tail, method="higher"))
    return Rank(
        low,
        high,
        _chance(best == 1, worst == 1, low == high == 1, low > 1),
        _chance(worst == models, best == models, low == high == models, high < models),
    )


def _chance(
    can: npt.NDArray[np.bool_], must: npt.NDArray[np.bool_], is_sure: bool, is_out: bool
) -> float | None:
    """Return a lower bound of a certain rank, an upper bound of an excluded one, else None."""
    if is_sure:
        return float(np.mean(must))
    return float(np.mean(can)) if is_out else None
