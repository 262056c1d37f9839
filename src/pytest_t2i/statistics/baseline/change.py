"""Interval of the change of a model's bias score against a baseline, on the same prompts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.linear_scores import BIAS, spread_table, table_bias
from pytest_t2i.statistics.baseline.moved import bounded_change, is_bounded
from pytest_t2i.statistics.families.empirical_bayes import GRID, spread_given_counts
from pytest_t2i.statistics.means.mean import mean_error
from pytest_t2i.statistics.model.bias import Estimator, check_how
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.shares.resampling import check_resampling

Whole = npt.NDArray[np.int64]

# A single image is always one-sided, before and after: it would show no change with certainty.
FEWEST_IMAGES = 2
FEW_PROMPTS = 10
"""Number of prompts below which tables balance bias and noise as for this number, and no
distribution is fitted."""
SMALLEST_ERROR = 1e-12
"""Smallest standard error that divides; where all counts agree the error is 0."""
DOUBT = 3.0
"""Factor of the bias that the fitted distributions suggest: they show a third of the true bias
where prompts became even (tests/simulations/regression.md)."""


def paired_model_bias_change(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - every interval of the model takes one
    estimator: Estimator = "corrected",
    words: Words = "fixed",
    resamples: int = 2000,
) -> Interval:
    """Return the model bias score after minus before, with an interval.

    Each prompt is scored by a table of its counts that has the same expectation before and after
    where its share did not change, for any two numbers of images (``linear_scores.spread_table``):
    so an unchanged model shows no change on average. Where prompts did change, the bias of the
    tables may not cancel. So where counts or scores differ by more than chance easily explains
    (``moved.is_bounded``), and below ten prompts always, the interval reaches at least as far as
    the bounding functions do, whose means bound both scores for any distribution of bias.

    .. math:: mean of h(after) - mean of h(before) -+ z sqrt(sum of Var h) / n_prompts

    The interval is approximate. In simulation (tests/simulations/change.md) it misses in at most
    6 % of cases where the score did not change, but in 13 to 16 % where every prompt moved from
    even to 0.1, which 20 images do not show.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        level: confidence level in (0, 1).
        seed: unused, as nothing is resampled; every interval of the model takes a seed.
        estimator: "corrected", or "paper" for the expectation of Lyu eq. 1 at the smaller of the
            two numbers of images of each prompt.
        words: "fixed" for the change on these prompts, where only images vary; "sample" for the
            change on prompts like these: Student's interval over the prompts' changes, or Hall's
            (``mean_interval``) where that reaches farther.
        resamples: unused, but at least 100.

    Returns:
        Interval in [-1, 1], above 0 for a worsening; n is the number of prompts with two clear
        images both before and after; both scores are means over these prompts.

    Raises:
        ValueError: shapes differ, no prompt can be compared, or an option is out of range.

    >>> change = paired_model_bias_change([10] * 20, [10] * 20, [20] * 20, [0] * 20,
    ...                                   level=0.95, seed=0)
    >>> change.low > 0.8
    True
    """
    check_resampling(level, resamples)
    check_how(estimator, words)
    before, after = _comparable(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    narrow, error = _by_tables(before, after, level, estimator, words)
    if estimator == "paper" or not is_bounded(
        before, after, narrow.estimate / max(error, SMALLEST_ERROR)
    ):
        return narrow
    bounds = bounded_change(before, after, level)
    if words == "fixed":
        low, high = min(narrow.low, bounds.low), max(narrow.high, bounds.high)
    else:
        # Sampled words: widened by as much as the bounds exceed the interval with fixed words.
        reach = float(scipy.stats.norm.isf((1.0 - level) / 2.0)) * error
        low = narrow.low - max(0.0, narrow.estimate - reach - bounds.low)
        high = narrow.high + max(0.0, bounds.high - narrow.estimate - reach)
    return replace(narrow, low=max(-1.0, low), high=min(1.0, high))


def unmoved_model_bias_change(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    level: float,
    estimator: Estimator = "corrected",
    words: Words = "fixed",
) -> Interval:
    """Return the change under the assumption that the bias of the tables cancels.

    The exact test of "the same model" has to find this change. Arguments, result and errors are
    those of ``paired_model_bias_change``, whose interval contains this one.

    >>> change = unmoved_model_bias_change([10] * 20, [10] * 20, [9] * 20, [11] * 20, level=0.95)
    >>> change.low < 0.0 < change.high
    True
    """
    check_how(estimator, words)
    before, after = _comparable(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    return _by_tables(before, after, level, estimator, words)[0]


def _by_tables(
    before: Whole, after: Whole, level: float, estimator: Estimator, words: Words
) -> tuple[Interval, float]:
    """Return the change by tables, and its standard error within prompts."""
    prompts = before.shape[1]
    family = _family(prompts, estimator)
    old, new, variances = _scores(before, after, family)
    estimate = _mean(new) - _mean(old)
    error = math.sqrt(variances.sum()) / prompts
    if words == "fixed":
        half = float(scipy.stats.norm.isf((1.0 - level) / 2.0)) * error
        low, high, method = estimate - half, estimate + half, "fixed-words"
    else:
        drawn = _sampled(new - old, level)
        low, high, method = min(drawn.low, estimate), max(drawn.high, estimate), drawn.method
    bias = 0.0 if family is None or prompts < FEW_PROMPTS else _bias(before, after, family)
    low, high = low - max(0.0, DOUBT * bias), high - min(0.0, DOUBT * bias)
    return Interval(estimate, max(-1.0, low), min(1.0, high), level, method, prompts), error


class PairedScores(NamedTuple):
    """The model bias scores before and after that a comparison of two runs uses.

    >>> counts = [9, 9], [1, 1], [10, 10], [0, 0]
    >>> paired_model_bias_scores(*counts, estimator="paper").before
    0.8
    """

    before: float
    after: float


def paired_model_bias_scores(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    estimator: Estimator = "corrected",
) -> PairedScores:
    """Return the two scores whose difference ``paired_model_bias_change`` estimates.

    Each is the mean of the same tables over the prompts that can be compared in both runs: so each
    may differ a little from the score of the run alone.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        estimator: "corrected" or "paper", as in ``paired_model_bias_change``.

    Returns:
        Both scores, in [0, 1].

    Raises:
        ValueError: shapes differ, or no prompt can be compared.

    >>> paired_model_bias_scores([9, 9], [1, 1], [10, 10], [0, 0], estimator="paper")
    PairedScores(before=0.8, after=1.0)
    """
    before, after = _comparable(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    old, new, _ = _scores(before, after, _family(before.shape[1], estimator))
    return PairedScores(_mean(old), _mean(new))


def _family(prompts: int, estimator: Estimator) -> int | None:
    """Return the number of prompts that the tables are made for; None for the paper's score."""
    return max(FEW_PROMPTS, prompts) if estimator == "corrected" else None


def _mean(scores: inputs.Floats) -> float:
    """Return the mean, clipped to [0, 1]: a single table entry may lie outside."""
    return float(np.clip(np.mean(scores), 0.0, 1.0))


def _comparable(**counts: npt.ArrayLike) -> tuple[Whole, Whole]:
    before_male, before_female, after_male, after_female = inputs.count_vectors(**counts)
    fewest = np.minimum(before_male + before_female, after_male + after_female)
    used = fewest >= FEWEST_IMAGES
    if not np.any(used):
        raise ValueError(
            f"no prompt of {used.size} has two clear images both before and after: "
            "before_male, before_female, after_male and after_female cannot be compared"
        )
    before, after = np.stack([before_male, before_female]), np.stack([after_male, after_female])
    return before[:, used], after[:, used]


def _scores(
    before: Whole, after: Whole, family: int | None
) -> tuple[inputs.Floats, inputs.Floats, inputs.Floats]:
    """Return each prompt's score before and after, and the variance of their difference."""
    sizes = [before.sum(axis=0), after.sum(axis=0)]
    fewer = np.minimum(*sizes)
    scores, variances = np.zeros((2, len(fewer))), np.zeros(len(fewer))
    for side, counts in enumerate((before, after)):
        each = np.stack([counts[0], sizes[side], fewer], axis=1).tolist()
        for place, (k, size, least) in enumerate(each):
            scores[side, place] = spread_table(size, least, family)[k]
            variances[place] += _score_variances(size, least, family)[k]
    return scores[0], scores[1], variances


@lru_cache(maxsize=1024)
def _score_variances(n: int, fewer: int, family: int | None) -> inputs.Floats:
    """Return the variance of a score whose prompt shows 0 to n men, [n + 1].

    The share is estimated as (k + 1/2) / (n + 1): images that are all of one gender do not show
    that further images would be.
    """
    table = spread_table(n, fewer, family)
    k = np.arange(n + 1)
    chance = scipy.stats.binom.pmf(k, n, ((k + 0.5) / (n + 1.0))[:, None])
    return np.asarray(chance @ table**2 - (chance @ table) ** 2, dtype=np.float64)


def _bias(before: Whole, after: Whole, family: int) -> float:
    """Return the bias of the tables' change under the fitted distributions of bias."""
    fewer = np.minimum(before.sum(axis=0), after.sum(axis=0))
    sizes, of_size = np.unique(fewer, return_inverse=True)
    biases = np.stack([np.interp(GRID, BIAS, table_bias(int(n), family)) for n in sizes])
    moved = spread_given_counts(*after) - spread_given_counts(*before)
    return float(np.sum(moved * biases[of_size.ravel()]) / len(fewer))


def _sampled(grown: inputs.Floats, level: float) -> Interval:
    """Return the interval of the mean growth over prompts like these, unbounded for one prompt.

    Student's or Hall's end counts, whichever reaches farther: the growth may be skewed to either
    side, which ten prompts do not show.
    """
    if len(grown) == 1:
        return Interval(float(grown[0]), -math.inf, math.inf, level, "cluster-t", 1)
    return mean_error(list(grown[:, None])).wider(level)
