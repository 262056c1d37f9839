"""Ranks of several models by their bias, with confidence bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import TIE
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.change import FEWEST_IMAGES, count_table
from pytest_t2i.statistics.distances import bounding_mean, one_against_rest
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.model import SMALLEST_ERROR, FixedWords
from pytest_t2i.statistics.shares import check_level

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of one model among several, 1 for the least biased."""

    low: int
    """Best rank that is plausible at the level."""
    high: int
    """Worst rank that is plausible at the level."""
    least_biased: float | None
    """Confidence that the model is the least biased: a lower bound where the first rank is the only
    plausible one, an upper bound where the first rank is implausible, else None.
    """
    most_biased: float | None
    """The same for the most biased rank."""


def ranking(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - nothing is drawn
    draws: int = 0,  # noqa: ARG001
) -> list[Rank]:
    """Return the ranks of models by their model bias score on the same prompts.

    |2p - 1| has no unbiased estimator, and the score is only partially identified: it lies between
    the expectations of two means of functions of the counts, for any distribution of bias over the
    prompts (``bounding``). A model certainly ranks behind another where its lower mean lies
    above the other's upper mean, by normal tests of all pairs with Holm's correction
    (``_ranks_between``); every other order is plausible.

    .. math:: E c_below <= score <= E c_above, each ~ N(mean of c, sum of Var c / n_prompts^2)

    So all true ranks lie within these at the level, also where scores are equal, for any
    distributions of bias and any number of images (tests/simulations/ranking.md).

    Prompts without two clear images of every model are left out.

    Args:
        male: clear male images, [n_models, n_prompts], two models or more.
        female: clear female images, [n_models, n_prompts].
        level: confidence level of all ranks together, in (0, 1).
        seed: unused, as nothing is drawn.
        draws: unused.

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
    models = [FixedWords.of(*counts) for counts in zip(men, women, strict=True)]
    return _ranks_between([(model.below, model.above) for model in models], level=level)


def _ranks_between(
    ends: Sequence[tuple[tuple[float, float], tuple[float, float]]], *, level: float
) -> list[Rank]:
    """Return the ranks of values that lie between two bounds, each with a normal error.

    One-sided p-values of all ordered pairs, from the lower bound of the one and the upper bound of
    the other, with Holm's correction (Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    check_level(level)
    values = np.array(ends, dtype=np.float64)
    below, above = values[:, 0], values[:, 1]
    apart = below[:, None, 0] - above[None, :, 0]
    error = np.maximum(np.hypot(below[:, None, 1], above[None, :, 1]), SMALLEST_ERROR)
    pairs = ~np.eye(len(values), dtype=bool)
    p_values = np.ones_like(apart)
    p_values[pairs] = holm(scipy.special.ndtr(-apart / error)[pairs])
    # behind[i, j]: model i certainly ranks behind model j.
    behind = p_values <= 1.0 - level + TIE
    return [_rank(behind, p_values, k) for k in range(len(values))]


def groups_differ_p_value(counts: npt.ArrayLike, *, seed: int) -> float:
    """Return the p-value against "this prompt's images have the same group shares by every model".

    Fisher's exact test; beyond two by two by Monte Carlo (9,999 tables of the same margins).
    """
    numbers = np.asarray(counts)
    if numbers.ndim != 2:  # noqa: PLR2004 - models and groups
        raise ValueError(f"counts must be [n_models, n_groups], got counts.shape={numbers.shape}")
    table = np.stack([inputs.whole_counts(f"counts[{k}]", row) for k, row in enumerate(numbers)]).T
    table = table[:, table.sum(axis=0) > 0][table.sum(axis=1) > 0]
    if min(table.shape) < 2:  # noqa: PLR2004 - models and groups
        return 1.0
    if table.shape == (2, 2):
        return float(scipy.stats.fisher_exact(table).pvalue)
    random = scipy.stats.MonteCarloMethod(rng=np.random.default_rng(seed))
    return float(scipy.stats.fisher_exact(table, method=random).pvalue)


def _comparable(male: npt.ArrayLike, female: npt.ArrayLike) -> tuple[Whole, Whole]:
    men, women = count_table("male", male), count_table("female", female)
    if men.shape != women.shape or len(men) < 2:  # noqa: PLR2004 - models
        raise ValueError(
            "male and female must be of one shape [n_models, n_prompts] with two models or more, "
            f"got {men.shape} and {women.shape}"
        )
    used = ((men + women) >= FEWEST_IMAGES).all(axis=0)
    if not used.any():
        raise ValueError(f"no prompt of {used.size} has two clear images of every model")
    return men[:, used], women[:, used]


def _rank(behind: inputs.Bools, p_values: inputs.Floats, k: int) -> Rank:
    models = len(behind)
    low, high = 1 + int(behind[k].sum()), models - int(behind[:, k].sum())
    rivals = np.arange(models) != k
    return Rank(
        low,
        high,
        _confidence(p_values[rivals, k], p_values[k, rivals], high == 1, low > 1),
        _confidence(p_values[k, rivals], p_values[rivals, k], low == models, high < models),
    )


def _confidence(
    against: inputs.Floats, instead: inputs.Floats, is_sure: bool, is_out: bool
) -> float | None:
    """Return a lower bound of a certain rank, an upper bound of an excluded one, else None."""
    if is_sure:
        return float(1.0 - against.max())
    return float(instead.min()) if is_out else None


def group_ranking(
    counts: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - nothing is drawn
    draws: int = 0,  # noqa: ARG001
) -> list[Rank]:
    """Return the ranks of models by their mean distance from even shares, as ``ranking`` does."""
    numbers = np.asarray(counts)
    if numbers.ndim != 3 or len(numbers) < 2 or numbers.shape[2] < 2:  # noqa: PLR2004 - models, groups
        raise ValueError(
            "counts must be [n_models, n_prompts, n_groups] with two models and groups or more, "
            f"got counts.shape={numbers.shape}"
        )
    used = (numbers.sum(axis=2) >= FEWEST_IMAGES).all(axis=0)
    if not used.any():
        raise ValueError(f"no prompt of {used.size} has two images with a label of every model")
    even = np.full(numbers.shape[2], 1.0 / numbers.shape[2])
    models = [one_against_rest(model[used], even) for model in numbers]
    ends = [(bounding_mean(parts, "below"), bounding_mean(parts, "above")) for parts in models]
    return _ranks_between(ends, level=level)
