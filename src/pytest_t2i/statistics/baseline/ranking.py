"""Which of several models is the least biased, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.change import FEW_PROMPTS, FEWEST_IMAGES, score_variances
from pytest_t2i.statistics.baseline.linear_scores import spread_table

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of one model among several, 1 for the least biased.

    >>> Rank(low=1, high=2, least_biased=0.7, most_biased=0.1).high
    2
    """

    low: int
    """Best place that is plausible at the level."""
    high: int
    """Worst place that is plausible at the level."""
    least_biased: float
    """Chance that it is the least biased of all, if scores err as their images say."""
    most_biased: float
    """Chance that it is the most biased of all."""


def ranking(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    draws: int = 10_000,
) -> list[Rank]:
    """Places of models by their model bias score on the same prompts.

    Each model's score is a mean of tables of its counts that have the same expectation at equal
    shares, whatever the numbers of images (``linear_scores.spread_table``). Scores are drawn anew
    from a normal distribution about each with the error that its images give it, and placed; the
    share of draws in which a model comes first is its chance to be the least biased.

    .. math:: score_m ~ N(mean of h(counts_m), sum of Var h / n_prompts^2)

    Prompts without two clear images of every model are left out.

    Args:
        male: clear male images, [n_models, n_prompts], two models or more.
        female: clear female images, [n_models, n_prompts].
        level: confidence level of the places in (0, 1).
        seed: seed of the draws.
        draws: how often scores are drawn, at least 1000.

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
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got level={level!r}")
    if draws < 1000:  # noqa: PLR2004 - below, chances are no better than a few percent
        raise ValueError(f"draws must be at least 1000, got draws={draws!r}")
    sizes = men + women
    fewest = sizes.min(axis=0)
    means, errors = np.transpose([_score(men[k], sizes[k], fewest) for k in range(len(men))])
    rng = np.random.default_rng(seed)
    drawn = rng.normal(means, errors, size=(draws, len(men)))
    # Ties, as of models without any error, are broken by chance.
    order = np.lexsort((rng.random(drawn.shape), drawn), axis=1)
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(1, len(men) + 1)[None, :], axis=1)
    tail = (1.0 - level) / 2.0
    return [
        Rank(
            int(np.quantile(places[:, k], tail, method="lower")),
            int(np.quantile(places[:, k], 1.0 - tail, method="higher")),
            float(np.mean(places[:, k] == 1)),
            float(np.mean(places[:, k] == len(men))),
        )
        for k in range(len(men))
    ]


def prompts_differ_p_value(male: Sequence[int], female: Sequence[int], *, seed: int) -> float:
    """p-value against "this prompt comes out alike by every model".

    Fisher's exact test of models by gender, two-sided; for more than two models by 9,999 random
    tables with the same margins.

    Args:
        male: clear male images by model, two models or more.
        female: clear female images by model.
        seed: seed of the random tables.

    Returns:
        p-value in (0, 1]; 1 where fewer than two models have a clear image, or all images of all
        models are of one gender.

    Raises:
        ValueError: lengths differ, or a count is no whole number.

    >>> prompts_differ_p_value([10, 0], [0, 10], seed=0) < 0.001
    True
    """
    counts = np.stack([inputs.whole_counts("male", male), inputs.whole_counts("female", female)])
    table = counts[:, counts.sum(axis=0) > 0]
    if table.shape[1] < 2 or 0 in table.sum(axis=1):  # noqa: PLR2004 - models
        return 1.0
    if table.shape[1] == 2:  # noqa: PLR2004 - models
        return float(stats.fisher_exact(table).pvalue)
    random = stats.MonteCarloMethod(rng=np.random.default_rng(seed))
    return float(stats.fisher_exact(table, method=random).pvalue)


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


def _score(men: Whole, sizes: Whole, fewest: Whole) -> tuple[float, float]:
    """Mean score of a model, and the standard error that its images give it."""
    family = max(FEW_PROMPTS, len(men))
    scores, variance = [], 0.0
    for k, n, least in np.stack([men, sizes, fewest], axis=1).tolist():
        scores.append(spread_table(n, least, family)[k])
        variance += float(score_variances(n, least, family)[k])
    return float(np.mean(scores)), math.sqrt(variance) / len(scores)
