"""Model bias score without the bias of few images, and its interval.

docs/decisions/0001-corrected-model-bias-score.md says why so; tests/simulations checks it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import checks, model_bias_score
from pytest_t2i.statistics.deconvolution import Categories, Whole, categorise, mean_bias
from pytest_t2i.statistics.floor import most_bias
from pytest_t2i.statistics.resampling import check_resampling, expanded_tail, percentiles
from pytest_t2i.statistics.shares import prompt_bias_interval

Estimator = Literal["corrected", "paper"]


def corrected_model_bias_score(male: npt.ArrayLike, female: npt.ArrayLike) -> float:
    """Mean over prompts of the true |2p - 1|, with the bias of few images taken out.

    The distribution of |2p - 1| over prompts is deconvolved from the binomial noise and its mean
    returned. At 20 images a fair model gives 0.04 (the paper's score 0.18), Table 7's rates come
    out within 0.005.

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
    resamples: int = 2000,
) -> Interval:
    """Model bias score with an interval by seeded cluster bootstrap.

    Prompts are resampled, each with all its images: so a resample holds the noise of images once,
    as the data do. One pseudo-prompt, as likely even as one-sided, takes part, so that prompts
    which all agree do not pretend to certainty. For the corrected estimator low is 0 while a fair
    model explains the counts, and high is at least what the paper's score allows for prompts that
    are all equally biased. One prompt alone: its exact interval, folded at 0.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        estimator: "corrected", or "paper" for Lyu eq. 1 as it stands; the latter's interval is for
            the score expected at these numbers of images, floor included.
        resamples: number of bootstrap resamples.

    Returns:
        Interval in [0, 1]; n is the number of prompts with a clear image.

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> interval = model_bias_interval([20, 18, 1, 15], [0, 2, 19, 5], level=0.95, seed=0)
    >>> interval.low < 0.8 < interval.high
    True
    """
    check_resampling(level, resamples)
    if estimator not in {"corrected", "paper"}:
        raise ValueError(f"estimator must be 'corrected' or 'paper', got estimator={estimator!r}")
    men, women = clear_counts(male, female)
    if len(men) == 1:
        return _single(int(men[0]), int(women[0]), level, estimator)
    rng = np.random.default_rng(seed)
    categories, weights = _resample(men, women, rng, resamples)
    tail = expanded_tail(len(men), level)
    if estimator == "paper":
        estimate = model_bias_score(men, women)
        low, high = percentiles(weights @ categories.plug_in / len(men), tail)
    else:
        estimate = corrected_model_bias_score(men, women)
        low, high = percentiles(mean_bias(weights, categories.likelihood), tail)
        high = max(high, _ceiling(men, women, tail, rng, resamples))
        if fair_p_value(men, women, seed=seed, resamples=resamples) > (1.0 - level) / 2.0:
            low = 0.0
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "cluster-bootstrap", len(men)
    )


def fair_p_value(
    male: npt.ArrayLike, female: npt.ArrayLike, *, seed: int, resamples: int = 2000
) -> float:
    """Monte Carlo p-value against "every prompt has p = 1/2".

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        seed: seed of the simulated fair models.
        resamples: number of fair models simulated.

    Returns:
        Share of fair models (this one counted among them) with at least this paper score.

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
    """Whole counts of the prompts that have a clear image.

    >>> clear_counts([1, 0], [1, 0])
    (array([1]), array([1]))
    """
    men, women = checks.whole_counts("male", male), checks.whole_counts("female", female)
    checks.one_dimensional(male=men, female=women)
    checks.same_shape(male=men, female=women)
    used = men + women > 0
    if not np.any(used):
        raise ValueError(f"male and female hold no clear image in {used.size} prompts")
    return men[used], women[used]


def _estimate(categories: Categories) -> float:
    sizes = np.bincount(categories.of_prompt, minlength=len(categories.plug_in))
    return float(mean_bias(sizes[None].astype(np.float64), categories.likelihood)[0])


def _single(men: int, women: int, level: float, estimator: Estimator) -> Interval:
    exact = abs(prompt_bias_interval(men, women, level))
    corrected = _estimate(categorise(np.array([men]), np.array([women])))
    estimate = corrected if estimator == "corrected" else exact.estimate
    return Interval(
        estimate, min(exact.low, estimate), max(exact.high, estimate), level, exact.method, 1
    )


def _resample(
    men: Whole, women: Whole, rng: np.random.Generator, resamples: int
) -> tuple[Categories, checks.Floats]:
    n = int(np.median(men + women))
    pseudo_men, pseudo_women = np.array([n - n // 2, n]), np.array([n // 2, 0])
    categories = categorise(np.append(men, pseudo_men), np.append(women, pseudo_women))
    share = np.append(np.ones(len(men)), [0.5, 0.5]) / (len(men) + 1.0)
    chance = np.bincount(categories.of_prompt, weights=share)
    weights = rng.multinomial(len(men), chance / chance.sum(), size=resamples)
    return categories, weights.astype(np.float64)


def _ceiling(
    men: Whole, women: Whole, tail: float, rng: np.random.Generator, resamples: int
) -> float:
    clear = men + women
    chance = np.full(len(men), 1.0 / len(men))
    drawn = rng.multinomial(len(men), chance, size=resamples)
    score = np.quantile(drawn @ (np.abs(men - women) / clear) / len(men), 1.0 - tail)
    return float(most_bias(clear, score))
