"""What no part of this package uses any more; it goes with the next release."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval, Prone
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.inversion import inverting, percentiles
from pytest_t2i.statistics.model import Whole
from pytest_t2i.statistics.shares import (
    BEYOND,
    Beyond,
    check_choice,
    check_level,
    check_share,
    containing,
    in_direction,
    prompt_bias_p_value,
    share_p_value,
)
from pytest_t2i.statistics.undetected import checked_counts

bias_p_value = partial(prompt_bias_p_value, alternative="beyond")
within_p_value = partial(prompt_bias_p_value, alternative="within")


def worst_case_counts(
    male: npt.ArrayLike, female: npt.ArrayLike, undetected: npt.ArrayLike, alternative: Beyond
) -> tuple[Whole, Whole]:
    """Return counts with the undetected images labelled least favourably to an alternative.

    .. math:: beyond: max(m, f) : n - max(m, f), but no more uneven to the other side than n / 2
       within: n - min(m, f) : min(m, f)

    An exact test of these counts keeps its level for any dependence between being undetected and
    the gender: no labels, "nobody" included, have a larger p-value (docs/decisions/0005).
    """
    men, women, unknown = checked_counts(male, female, undetected)
    check_choice("alternative", alternative, BEYOND)
    images = men + women + unknown
    if alternative == "beyond":
        more = np.maximum(np.maximum(men, women), images - images // 2)
    else:
        more = images - np.minimum(men, women)
    favoured = men >= women
    return np.where(favoured, more, images - more), np.where(favoured, images - more, more)


mean_total_variation_p_value = inverting(mean_total_variation_interval)


def stereotype_p_value(
    present: int, n: int, expected: float, bound: float, direction: Prone = "over"
) -> float:
    """Return the exact p-value against "the stereotype score is at most the bound"."""
    k, size, real = in_direction(*check_share(present, n, 0.5), expected, direction)
    share = real + float(inputs.in_range("bound", bound, 0.0, 1.0))
    return share_p_value(k, size, min(1.0, share), "above")


def adjusted_model_bias_score(
    words: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    *,
    level: float,
    seed: int,
    draws: int = 2000,
) -> Interval:
    """Return the score with each prompt's share adjusted for the error rates (Rogan, Gladen 1978).

    The interval is of the rates alone: it covers the score of fair models in under 1 % of runs.
    """
    check_level(level)
    w, y = (np.concatenate([np.asarray(a, float) for a in arrays]) for arrays in (words, labels))
    men, women = (w != 0) & (y == 1), (w != 0) & (y == -1)
    hits, misses = int(np.sum(men & (w == 1))), int(np.sum(men & (w == -1)))
    right, wrong = int(np.sum(women & (w == -1))), int(np.sum(women & (w == 1)))
    if not hits + misses or not right + wrong:
        raise ValueError("no labelled image of one gender was kept: its error rate is unknown")
    if hits / (hits + misses) + right / (right + wrong) <= 1.0:
        raise ValueError("the detector is no better than chance on the labelled images")
    word_arrays = [
        np.asarray(word, float) for word in words if np.any(np.asarray(word, float) != 0)
    ]
    shares = np.array([np.sum(entry > 0) / np.sum(entry != 0) for entry in word_arrays])
    rng = np.random.default_rng(seed)
    sensitivity = np.concatenate(
        [[hits / (hits + misses)], rng.beta(hits + 0.5, misses + 0.5, draws)]
    )
    specificity = np.concatenate(
        [[right / (right + wrong)], rng.beta(right + 0.5, wrong + 0.5, draws)]
    )
    strength = np.maximum(sensitivity + specificity - 1.0, 1e-3)
    adjusted = (shares[:, None] + specificity - 1.0) / strength
    scores = np.mean(np.abs(2.0 * np.clip(adjusted, 0.0, 1.0) - 1.0), axis=0)
    low, high = percentiles(scores[1:], (1.0 - level) / 2.0)
    estimate = float(scores[0])
    method = "rogan-gladen, error rates only"
    return containing(estimate, (low, high), level, method, len(shares))
