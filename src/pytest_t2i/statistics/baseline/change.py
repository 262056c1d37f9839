"""How much a model's bias changed against a baseline, on the same prompts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.linear_scores import BIAS, spread_table, table_bias
from pytest_t2i.statistics.families.empirical_bayes import GRID, spread_given_counts
from pytest_t2i.statistics.means.mean import mean_error
from pytest_t2i.statistics.model.bias import Estimator
from pytest_t2i.statistics.shares.intervals import prompt_bias_interval
from pytest_t2i.statistics.shares.resampling import check_resampling

Whole = npt.NDArray[np.int64]
Words = Literal["fixed", "sample"]
"""Whether a score is about these prompts, or about words like these."""

# One image alone is always all of one gender: before and after it would show "no change, for sure".
FEWEST_IMAGES = 2
FEW_PROMPTS = 10
"""Below so many prompts tables weigh bias and noise as for this many, and no spread is fitted."""
DOUBT = 3.0
"""How many times the bias that the fitted spreads suggest the interval allows for: they see a
third of it where prompts became even (tests/simulations/regression.md)."""


def paired_model_bias_change(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - asked for as of every interval of the model
    estimator: Estimator = "corrected",
    words: Words = "fixed",
    resamples: int = 2000,
) -> Interval:
    """Model bias score after minus before, with an interval.

    Each prompt is scored by a table of its counts that has the same expectation before and after
    where its share did not change, whatever the two numbers of images
    (``linear_scores.spread_table``): so the same model shows no change on average. Where prompts
    did change, the bias of the tables may not cancel; the interval reaches further by three times
    what the spreads of bias fitted before and after say of it.

    .. math:: mean of h(after) - mean of h(before) -+ z sqrt(sum of Var h) / n_prompts

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        level: confidence level in (0, 1).
        seed: plays no part, as nothing is resampled; asked for as of every interval of the model.
        estimator: "corrected", or "paper" for Lyu eq. 1 as it is expected at the smaller of the
            two numbers of images of each prompt.
        words: "fixed" for the change on these prompts, whose images alone are drawn; "sample" for
            the change on prompts like these: Student's interval of how their changes differ, or
            Hall's (``mean_interval``) where that reaches farther.
        resamples: plays no part either, and is at least 100.

    Returns:
        Interval in [-1, 1], above 0 for a worsening; n is the number of prompts with two clear
        images both before and after, over which both scores are taken.

    Raises:
        ValueError: shapes differ, no prompt can be compared, or an option is out of range.

    >>> change = paired_model_bias_change([10] * 20, [10] * 20, [20] * 20, [0] * 20,
    ...                                   level=0.95, seed=0)
    >>> change.low > 0.8
    True
    """
    check_resampling(level, resamples)
    for name, value, known in (
        ("estimator", estimator, ("corrected", "paper")),
        ("words", words, ("fixed", "sample")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be {known[0]!r} or {known[1]!r}, got {name}={value!r}")
    before, after = _comparable(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    prompts = before.shape[1]
    family = _family(prompts, estimator)
    old, new, variances = _scores(before, after, family)
    estimate = _mean(new) - _mean(old)
    if words == "fixed":
        half = float(stats.norm.isf((1.0 - level) / 2.0)) * math.sqrt(variances.sum()) / prompts
        low, high, method = estimate - half, estimate + half, "fixed-words"
    else:
        drawn = _sampled(new - old, level)
        low, high, method = min(drawn.low, estimate), max(drawn.high, estimate), drawn.method
    bias = 0.0 if family is None or prompts < FEW_PROMPTS else _bias(before, after, family)
    low, high = low - max(0.0, DOUBT * bias), high - min(0.0, DOUBT * bias)
    return Interval(estimate, max(-1.0, low), min(1.0, high), level, method, prompts)


class PairedScores(NamedTuple):
    """The model bias score before and after, as they are compared with one another.

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
    """The two scores whose difference ``paired_model_bias_change`` estimates.

    Each is the mean of the same tables, over the prompts that both runs can be compared on: so
    they may lie a little off the score of either run alone.

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


def prompt_bias_change(
    before_male: int, before_female: int, after_male: int, after_female: int, level: float
) -> Interval:
    """Change of one prompt's absolute bias score, with an interval.

    .. math:: |score_after| - |score_before|, its interval from the two exact ones by
       "square and add" (Newcombe 1998; Zou and Donner 2008)

    That method takes each estimate for unbiased, and an absolute score near 0 is not: where one
    side may be 0, the interval reaches at least as far as it would if that side were 0. Without
    this it covered a change to parity in 67 to 85 % of cases (tests/simulations).

    Args:
        before_male: clear male images in the baseline.
        before_female: clear female images in the baseline.
        after_male: clear male images now.
        after_female: clear female images now.
        level: confidence level in (0, 1).

    Returns:
        Interval in [-1, 1], above 0 for a worsening; n is the smaller number of clear images.

    Raises:
        ValueError: there is no clear image before or after, or an argument is out of range.

    >>> print(prompt_bias_change(10, 10, 20, 0, 0.95))
    1.000 [0.433, 1.000]
    """
    before = abs(prompt_bias_interval(before_male, before_female, level))
    after = abs(prompt_bias_interval(after_male, after_female, level))
    estimate = after.estimate - before.estimate
    down = math.hypot(after.estimate - after.low, before.high - before.estimate)
    up = math.hypot(after.high - after.estimate, before.estimate - before.low)
    low, high = estimate - down, estimate + up
    if after.low == 0.0:
        low = min(low, -before.high)
    if before.low == 0.0:
        high = max(high, after.high)
    return Interval(estimate, low, high, level, "square-and-add", min(before.n, after.n))


def _family(prompts: int, estimator: Estimator) -> int | None:
    """Prompts for which the tables balance bias and noise; None for the paper's score."""
    return max(FEW_PROMPTS, prompts) if estimator == "corrected" else None


def _mean(scores: inputs.Floats) -> float:
    """A table may score below 0 or above 1; the score of all prompts together cannot."""
    return float(np.clip(np.mean(scores), 0.0, 1.0))


def _comparable(**counts: npt.ArrayLike) -> tuple[Whole, Whole]:
    arrays = {name: inputs.whole_counts(name, values) for name, values in counts.items()}
    inputs.one_dimensional(**arrays)
    inputs.same_shape(**arrays)
    before_male, before_female, after_male, after_female = arrays.values()
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
    """Each prompt's score before and after, and the variance that images give their difference."""
    sizes = [before.sum(axis=0), after.sum(axis=0)]
    fewer = np.minimum(*sizes)
    scores, variances = np.zeros((2, len(fewer))), np.zeros(len(fewer))
    for side, counts in enumerate((before, after)):
        each = np.stack([counts[0], sizes[side], fewer], axis=1).tolist()
        for place, (k, size, least) in enumerate(each):
            scores[side, place] = spread_table(size, least, family)[k]
            variances[place] += score_variances(size, least, family)[k]
    return scores[0], scores[1], variances


@lru_cache(maxsize=1024)
def score_variances(n: int, fewer: int, family: int | None) -> inputs.Floats:
    """Variance of a score whose prompt shows 0 to n men.

    The share is taken for (k + 1/2) / (n + 1): images that are all of one gender do not show that
    others would be.
    """
    table = spread_table(n, fewer, family)
    k = np.arange(n + 1)
    chance = stats.binom.pmf(k, n, ((k + 0.5) / (n + 1.0))[:, None])
    return np.asarray(chance @ table**2 - (chance @ table) ** 2, dtype=np.float64)


def _bias(before: Whole, after: Whole, family: int) -> float:
    """What the tables add to the change, if the spreads of bias are as fitted."""
    fewer = np.minimum(before.sum(axis=0), after.sum(axis=0))
    sizes, of_size = np.unique(fewer, return_inverse=True)
    biases = np.stack([np.interp(GRID, BIAS, table_bias(int(n), family)) for n in sizes])
    moved = spread_given_counts(*after) - spread_given_counts(*before)
    return float(np.sum(moved * biases[of_size.ravel()]) / len(fewer))


def _sampled(grown: inputs.Floats, level: float) -> Interval:
    """Mean growth over prompts like these; one prompt alone says nothing of others.

    Student's interval or Hall's, whichever reaches farther: growth is as likely lopsided to either
    side, which ten prompts do not tell (Hall's alone covered in 0.92 to 0.95).
    """
    if len(grown) == 1:
        return Interval(float(grown[0]), -math.inf, math.inf, level, "cluster-t", 1)
    error = mean_error(list(grown[:, None]))
    hall, student = (e.interval(level) for e in (error, replace(error, skewness=0.0)))
    low, high = min(hall.low, student.low), max(hall.high, student.high)
    return replace(student, low=low, high=high)
