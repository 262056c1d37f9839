"""How much a model's bias changed against a baseline, on the same prompts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import checks
from pytest_t2i.statistics.deconvolution import Whole, categorise, mean_bias
from pytest_t2i.statistics.floor import least_bias, most_bias
from pytest_t2i.statistics.model_bias import Estimator
from pytest_t2i.statistics.resampling import check_resampling, expanded_tail, percentiles
from pytest_t2i.statistics.shares import prompt_bias_interval

# Below this many prompts their resampling shows too little of the spread (with two prompts that
# both moved up by chance the change would be taken for certain); images are resampled instead.
FEW_PROMPTS = 10
# One image alone is always all of one gender: before and after it would show "no change, for sure".
FEWEST_IMAGES = 2
ENOUGH = 15
"""Clear images of the median prompt from which on corrected scores are trusted as they are."""


def paired_model_bias_change(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    estimator: Estimator = "corrected",
    resamples: int = 2000,
) -> Interval:
    """Model bias score after minus before, with an interval by seeded cluster bootstrap.

    Each prompt is drawn with its images before and after, so what a prompt has in common in both
    (its concept, the noise of shared seeds) cancels. With fewer than 10 prompts these are taken
    as given, and only the noise of their images counts (draws of p from Beta(n_m + 1/2,
    n_f + 1/2), the Jeffreys posterior). Below a median of 15 clear images the interval also holds
    however bias is spread over prompts before and after, which costs power.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        estimator: "corrected", or "paper" for the difference of Lyu eq. 1 as it stands.
        resamples: number of bootstrap resamples.

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
    if estimator not in {"corrected", "paper"}:
        raise ValueError(f"estimator must be 'corrected' or 'paper', got estimator={estimator!r}")
    before, after = _comparable(
        before_male=before_male,
        before_female=before_female,
        after_male=after_male,
        after_female=after_female,
    )
    prompts = before.shape[1]
    rng = np.random.default_rng(seed)
    once = np.ones((1, prompts))
    estimate = float((_scores(after, once, estimator) - _scores(before, once, estimator))[0])
    if prompts < FEW_PROMPTS:
        drawn = _posterior(after, rng, resamples) - _posterior(before, rng, resamples)
        tail, method = (1.0 - level) / 2.0, "image-bootstrap"
    else:
        weights = rng.multinomial(prompts, np.full(prompts, 1.0 / prompts), size=resamples)
        times = weights.astype(np.float64)
        drawn = _scores(after, times, estimator) - _scores(before, times, estimator)
        tail, method = expanded_tail(prompts, level), "cluster-bootstrap"
    low, high = percentiles(drawn, tail)
    if prompts >= FEW_PROMPTS and estimator == "corrected":
        least, most = _whatever_the_spread(before, after, times, tail)
        low, high = min(low, least), max(high, most)
    return Interval(estimate, min(low, estimate), max(high, estimate), level, method, prompts)


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


def _comparable(**counts: npt.ArrayLike) -> tuple[Whole, Whole]:
    arrays = {name: checks.whole_counts(name, values) for name, values in counts.items()}
    checks.one_dimensional(**arrays)
    checks.same_shape(**arrays)
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


def _scores(counts: Whole, times: checks.Floats, estimator: Estimator) -> checks.Floats:
    categories = categorise(counts[0], counts[1])
    grouped = times @ np.eye(len(categories.plug_in))[categories.of_prompt]
    if estimator == "paper":
        return np.asarray(grouped @ categories.plug_in / counts.shape[1], dtype=np.float64)
    return mean_bias(grouped, categories.likelihood)


def _whatever_the_spread(
    before: Whole, after: Whole, times: checks.Floats, tail: float
) -> tuple[float, float]:
    """Bounds of the change that hold however bias is spread over prompts.

    With few images the corrected scores lean on that spread: where it changes and the score does
    not, their difference is off (tests/simulations/regression.md). From a median of 15 images on
    the lean is small, and there are none.
    """
    if min(np.median(before.sum(axis=0)), np.median(after.sum(axis=0))) >= ENOUGH:
        return math.inf, -math.inf
    ends = []
    for counts in (before, after):
        clear = counts.sum(axis=0)
        paper = times @ (np.abs(counts[0] - counts[1]) / clear) / len(clear)
        ends.append((times @ least_bias(*counts) / len(clear), most_bias(clear, paper)))
    (before_least, before_most), (after_least, after_most) = ends
    return (
        percentiles(after_least - before_most, tail)[0],
        percentiles(after_most - before_least, tail)[1],
    )


def _posterior(counts: Whole, rng: np.random.Generator, resamples: int) -> checks.Floats:
    share = rng.beta(counts[0] + 0.5, counts[1] + 0.5, size=(resamples, counts.shape[1]))
    return np.asarray(np.mean(np.abs(2.0 * share - 1.0), axis=1), dtype=np.float64)
