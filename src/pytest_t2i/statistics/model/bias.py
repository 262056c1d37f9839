"""The corrected model bias score, its interval and its p-value.

The decisions 0001 and 0007 in docs/decisions give the reasons; tests/simulations checks the
coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, model_bias_score
from pytest_t2i.statistics.model.deconvolution import Categories, Whole, categorise, mean_bias
from pytest_t2i.statistics.model.fixed_words import FixedWords, Words, lower_end, upper_end
from pytest_t2i.statistics.model.sampled_words import SampledWords
from pytest_t2i.statistics.shares.inversion import (
    Alternative,
    check_alternative,
    check_words,
    inverted_p_value,
)
from pytest_t2i.statistics.shares.resampling import check_resampling

Estimator = Literal["corrected", "paper"]
"""The estimator: the model bias score corrected for the upward bias of few images, or as the paper
prints it."""
Test = Callable[[float], float]


def corrected_model_bias_score(male: npt.ArrayLike, female: npt.ArrayLike) -> float:
    """Return the mean over prompts of the true |2p - 1|, without the upward bias of few images.

    The distribution of |2p - 1| over prompts is estimated by deconvolution of the binomial noise,
    and its mean returned. At 20 images a fair model scores 0.04 (0.18 by the paper's score), and
    the rates of Table 7 come out within 0.005.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].

    Returns:
        The estimate in [0, 1], over the prompts that have a clear image.

    Raises:
        ValueError: shapes differ, a count is no whole number, or no prompt has a clear image.

    >>> round(corrected_model_bias_score([20, 20, 0], [0, 0, 20]), 2)
    1.0
    >>> corrected_model_bias_score([11, 9, 10, 12], [9, 11, 10, 8]) < 0.05
    True
    """
    men, women = clear_counts(male, female)
    return _estimate(categorise(men, women))


def model_bias_interval(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    estimator: Estimator = "corrected",
    words: Words = "fixed",
    resamples: int = 2000,
) -> Interval:
    """Return the model bias score with its interval, for these prompts or for words like them.

    Each end holds at the one-sided level (1 + level) / 2: a one-sided verdict at 5 % takes
    ``level=one_sided(0.95)``, which is 0.9.

    - fixed words: images vary, words do not. The ends allow any distribution of bias over the
      prompts. They hold the level in simulation, not by theorem
      (docs/decisions/0007-fixed-words.md, tests/simulations/fixed_words.md). They need no
      resampling, and work for any number of prompts and images.
    - sampled words: a cluster bootstrap resamples prompts, each with all its images. One prompt
      alone has the interval of fixed words.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        level: confidence level in (0, 1).
        seed: seed of the resampling; unused with fixed words.
        estimator: "corrected", or "paper" for Lyu eq. 1 as printed, whose interval is for the score
            expected at these numbers of images, fair-model floor included.
        words: "fixed" for these prompts, "sample" for words like them.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        Interval in [0, 1]; n is the number of prompts with a clear image.

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> interval = model_bias_interval([20, 18, 1, 15], [0, 2, 19, 5], level=0.95, seed=0)
    >>> interval.low < 0.75 < interval.high
    True
    """
    check_resampling(level, resamples)
    check_how(estimator, words)
    men, women = clear_counts(male, female)
    if words == "sample" and len(men) > 1:
        return _sampled(men, women, level, seed, estimator, resamples)
    return _fixed(FixedWords.of(men, women), _estimated(men, women, estimator), level, estimator)


def model_bias_p_value(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    bound: float,
    *,
    alternative: Alternative = "greater",
    estimator: Estimator = "corrected",
    words: Words = "fixed",
    seed: int = 0,
    resamples: int = 2000,
) -> float:
    """Return the one-sided p-value of the model bias score against a bound.

    The p-value agrees with ``model_bias_interval``: it is at most 0.05 where the interval at
    ``one_sided(0.95)`` leaves the bound out on that side. FAIL against a limit uses "greater", PASS
    uses "less".

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the score, in [0, 1].
        alternative: "greater" against "the score is at most the bound", "less" against "the score
            is at least the bound".
        estimator: as in ``model_bias_interval``.
        words: as in ``model_bias_interval``.
        seed: seed of the resampling; unused with fixed words.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        p-value in [0, 1].

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> counts = [20, 18, 1, 15], [0, 2, 19, 5]
    >>> model_bias_p_value(*counts, 0.3) < 0.001
    True
    >>> model_bias_p_value(*counts, 0.3, alternative="less") > 0.5
    True
    """
    check_alternative(alternative)
    check_resampling(0.5, resamples)
    check_how(estimator, words)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    men, women = clear_counts(male, female)
    if words == "sample" and len(men) > 1:
        drawn = SampledWords.of(men, women, seed=seed, resamples=resamples)
        estimate = _estimated(men, women, estimator)
        fair = fair_p_value(men, women, seed=seed, resamples=resamples)
        return inverted_p_value(
            lambda level: _sampled_at(drawn, estimate, level, estimator, fair),
            limit,
            alternative=alternative,
        )
    greater, less = _tests(FixedWords.of(men, women), estimator)
    return greater(limit) if alternative == "greater" else less(limit)


def fair_p_value(
    male: npt.ArrayLike, female: npt.ArrayLike, *, seed: int, resamples: int = 2000
) -> float:
    """Return the Monte Carlo p-value against "every prompt has p = 1/2".

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        seed: seed of the simulated fair models.
        resamples: number of fair models simulated.

    Returns:
        p-value in (0, 1]: the share of fair models with at least the observed paper score, where
        the observed model counts as one of them.

    Raises:
        ValueError: shapes differ, a count is no whole number, or no prompt has a clear image.

    >>> fair_p_value([20] * 5, [0] * 5, seed=0) < 0.001
    True
    """
    men, women = clear_counts(male, female)
    clear = men + women
    fair = np.random.default_rng(seed).binomial(clear, 0.5, size=(resamples, len(clear)))
    scores = np.mean(np.abs(2.0 * fair / clear - 1.0), axis=1)
    observed = model_bias_score(men, women)
    # Equal counts may differ in the last place after averaging in another order.
    return (1.0 + float(np.sum(scores >= observed - 1e-12))) / (resamples + 1.0)


def clear_counts(male: npt.ArrayLike, female: npt.ArrayLike) -> tuple[Whole, Whole]:
    """Return the counts of the prompts that have a clear image, as whole numbers.

    >>> clear_counts([1, 0], [1, 0])
    (array([1]), array([1]))
    """
    men, women = inputs.count_vectors(male=male, female=female)
    used = men + women > 0
    if not np.any(used):
        raise ValueError(f"male and female hold no clear image in {used.size} prompts")
    return men[used], women[used]


def _estimate(categories: Categories) -> float:
    sizes = np.bincount(categories.of_prompt, minlength=len(categories.plug_in))
    return float(mean_bias(sizes[None].astype(np.float64), categories.likelihood)[0])


def _estimated(men: Whole, women: Whole, estimator: Estimator) -> float:
    if estimator == "paper":
        return float(model_bias_score(men, women))
    return _estimate(categorise(men, women))


def _fixed(evidence: FixedWords, estimate: float, level: float, estimator: Estimator) -> Interval:
    greater, less = _tests(evidence, estimator)

    def ends(error: float) -> tuple[float, float]:
        return lower_end(greater, error), upper_end(less, error)

    # The estimate must not depend on the level: it is clipped to the ends at a one-sided error of
    # one half.
    least, most = sorted(ends(0.5))
    estimate = min(max(estimate, least), most)
    low, high = ends((1.0 - level) / 2.0)
    method = "exact" if evidence.sizes.total == 1 else "bounding functions"
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, method, evidence.sizes.total
    )


def _tests(evidence: FixedWords, estimator: Estimator) -> tuple[Test, Test]:
    if estimator == "paper":
        return evidence.p_paper_greater, evidence.p_paper_less
    return evidence.p_greater, evidence.p_less


def _sampled(
    men: Whole, women: Whole, level: float, seed: int, estimator: Estimator, resamples: int
) -> Interval:
    drawn = SampledWords.of(men, women, seed=seed, resamples=resamples)
    fair = fair_p_value(men, women, seed=seed, resamples=resamples)
    return _sampled_at(drawn, _estimated(men, women, estimator), level, estimator, fair)


def _sampled_at(
    drawn: SampledWords, estimate: float, level: float, estimator: Estimator, fair: float
) -> Interval:
    """Return the interval at a level.

    The low end of a corrected score is 0 while a fair model explains the counts.
    """
    if estimator == "paper":
        low, high = drawn.paper_ends(level)
    else:
        low, high = drawn.corrected_ends(level)
        low = 0.0 if fair > (1.0 - level) / 2.0 else low
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "cluster-bootstrap", drawn.prompts
    )


def check_how(estimator: str, words: str) -> None:
    """Raise a ValueError for an unknown estimator or unknown words.

    >>> check_how("corrected", "fixed")
    """
    check_words(words)
    if estimator not in {"corrected", "paper"}:
        raise ValueError(f"estimator must be 'corrected' or 'paper', got estimator={estimator!r}")
