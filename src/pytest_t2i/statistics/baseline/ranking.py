"""Which of several models is the least biased, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.change import FEWEST_IMAGES
from pytest_t2i.statistics.model.fixed_words import FixedWords

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of one model among several, 1 for the least biased.

    >>> Rank(low=1, high=2, least_biased=None, most_biased=0.1).high
    2
    """

    low: int
    """Best place that is plausible at the level."""
    high: int
    """Worst place that is plausible at the level."""
    least_biased: float | None
    """Chance that it is the least biased of all: at least that much where the first place is the
    only plausible one, at most that much where it is not plausible; None where it cannot be told.
    """
    most_biased: float | None
    """The same for the most biased of all."""


def ranking(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    draws: int = 10_000,
) -> list[Rank]:
    """Places of models by their model bias score on the same prompts.

    |2p - 1| has no unbiased estimate, and what is known of a score depends on how bias is spread
    over the prompts. So each score lies between the means of two functions of the counts, whose
    expectations lie below and above it for every spread (``model.bounding``). Both means are drawn
    anew with the error that images give them. A model comes behind another for sure where its
    lower mean lies above the other's upper one; every other order stays plausible.

    .. math:: E c_below <= score <= E c_above, each ~ N(mean of c, sum of Var c / n_prompts^2)

    Models whose scores are equal are so told apart in few runs, however differently their bias is
    spread and however many images there are (tests/simulations/ranking.md).

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
    rng = np.random.default_rng(seed)
    lower, upper = _drawn_bounds(men, women, rng.normal(size=(draws, len(men))))
    tail = (1.0 - level) / 2.0
    return [_rank(*_places(lower, upper, k), len(men), tail) for k in range(len(men))]


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


def _drawn_bounds(
    men: Whole, women: Whole, normal: inputs.Floats
) -> tuple[inputs.Floats, inputs.Floats]:
    """Where each score lies at least and at most, in each draw, [n_draws, n_models]."""
    known = [FixedWords.of(*counts) for counts in zip(men, women, strict=True)]
    below, above = (
        np.array([one.below.value for one in known])
        + normal * np.array([one.below.error for one in known]),
        np.array([one.above.value for one in known])
        + normal * np.array([one.above.error for one in known]),
    )
    return np.minimum(below, above), np.maximum(below, above)


def _places(lower: inputs.Floats, upper: inputs.Floats, k: int) -> tuple[Whole, Whole]:
    """The best and the worst place of a model in each draw."""
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
    """At least, where that place is sure; at most, where it is out of question; else None."""
    if is_sure:
        return float(np.mean(must))
    return float(np.mean(can)) if is_out else None
