"""Prediction-powered inference: few labels by people correct the predicted labels of all images.

Angelopoulos, Duchi and Zrnic 2023 (PPI++). docs/decisions/0004 says how it is used here;
tests/simulations/correction.py checks bias and coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.correction.label_noise import effective_counts, folding_bias
from pytest_t2i.statistics.correction.strata import (
    Stratum,
    estimates,
    signs_of,
    variances_of,
)
from pytest_t2i.statistics.shares.intervals import check_level
from pytest_t2i.statistics.shares.resampling import percentiles

BORROWED = 20
"""Images' worth of the pooled variance that a prompt's own, where larger, is joined with."""

ROGAN_GLADEN = "rogan-gladen, error rates only"


@dataclass(frozen=True, slots=True)
class CorrectedScores:
    """What people would say of all images of a run, as far as their labels tell.

    >>> nan = float("nan")
    >>> scores = corrected_scores([[1, 1, 1, -1]] * 2, [[1, 1, -1, nan]] * 2, 0.95)
    >>> scores.labels, len(scores.prompts)
    (6, 2)
    """

    prompts: tuple[Interval, ...]
    """Prompt bias score per prompt, in the order given."""
    male: tuple[float, ...]
    """Images that people would call male, per prompt, estimated."""
    female: tuple[float, ...]
    """Images that people would call female, per prompt, estimated."""
    effective_male: tuple[int, ...]
    """Male images, per prompt, of as many as would be as sure without labels (effective_counts).

    An interval or a verdict about the model takes these counts, and adds no half-width to it."""
    effective_female: tuple[int, ...]
    """Female images, per prompt, likewise."""
    model: Interval
    """Model bias score (Lyu eq. 1) that people would give these very images."""
    detector: float
    """The same by the predicted labels alone."""
    labels: int
    """Labelled images."""
    labels_to_halve: int | None
    """About how many more labels, spread evenly, would halve the model's interval."""


def corrected_scores(
    words: Sequence[npt.ArrayLike], labels: Sequence[npt.ArrayLike], level: float
) -> CorrectedScores:
    """Bias scores corrected by a random part of the images that people labelled.

    For each prompt, the mean sign s (+1 male, -1 female, 0 not clear) and the share of clear
    images c are estimated with the labelled images' errors taken off the detector's mean, as in
    PPI++ with one power l for all prompts; the score is s/c. Intervals are for the score that
    people would give on these very images, so images that were labelled carry no uncertainty. The
    model's reaches lower by what the labels' noise adds to absolute scores. What is said of the
    model beyond these images rests on the effective counts, never on a sum of half-widths.

    .. math:: s = l mean(f) + mean_L(y - l f);  Var = S^2 (1/n - 1/N), S^2 of residuals

    Args:
        words: the predicted label of every image, per prompt: +1, -1, or 0 for undetected.
        labels: people's word on the same images: +1, -1, 0, or NaN where there is no label.
        level: confidence level in (0, 1).

    Returns:
        Scores per prompt and of the model.

    Raises:
        ValueError: a prompt has fewer than two labels, lengths differ, or no image is clear.

    >>> one = [1.0, 1, 1, 1, -1, 1, 1, 0, 1, 1]
    >>> people = [1.0, 1, -1, 1, -1] + [float("nan")] * 5
    >>> found = corrected_scores([one, one], [people, people], 0.95)
    >>> found.detector > found.model.estimate
    True
    """
    check_level(level)
    strata = [signs_of(w, y, k) for k, (w, y) in enumerate(zip(words, labels, strict=True))]
    if not strata:
        raise ValueError("words must hold at least one prompt")
    sign = estimates(strata, clear=False)
    clear = estimates(strata, clear=True)
    floors = np.array([1.0 / stratum.size for stratum in strata])
    shares = np.maximum(clear.means, floors)
    scores = np.clip(sign.means / shares, -1.0, 1.0)
    variances = variances_of(strata, sign.power, clear.power, scores, shares)
    z = float(scipy.stats.norm.isf((1.0 - level) / 2.0))
    model, half = float(np.mean(np.abs(scores))), z * math.sqrt(variances.sum()) / len(strata)
    sizes = np.array([float(stratum.size) for stratum in strata])
    seen = np.clip(clear.means, floors, 1.0) * sizes
    male, female = seen * (1.0 + scores) / 2.0, seen * (1.0 - scores) / 2.0
    effective = effective_counts(male, female, variances)
    folded = float(np.mean(folding_bias(scores, variances)))
    return CorrectedScores(
        prompts=tuple(_prompt_intervals(strata, scores, variances, level)),
        male=tuple(male.tolist()),
        female=tuple(female.tolist()),
        effective_male=tuple(effective[0].tolist()),
        effective_female=tuple(effective[1].tolist()),
        model=Interval(
            model,
            max(0.0, model - half - folded),
            min(1.0, model + half),
            level,
            "ppi++",
            len(strata),
        ),
        detector=_plain(strata),
        labels=sum(stratum.labelled for stratum in strata),
        labels_to_halve=_to_halve(strata),
    )


def adjusted_model_bias_score(
    words: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    *,
    level: float,
    seed: int,
    draws: int = 2000,
) -> Interval:
    """A second opinion: model bias score with each prompt's share adjusted for the error rates.

    .. math:: p = (p_detected + specificity - 1) / (sensitivity + specificity - 1), cut to [0, 1]
       (Rogan and Gladen 1978)

    The two rates come from all labelled images that are clear and were kept; the filter's errors
    are not corrected, and what noise adds to absolute scores neither.

    Show the estimate alone. Its interval, from draws of the rates (Beta, Jeffreys), leaves the
    images out: it covers the score of fair and mildly biased models in less than 1 % of runs
    (tests/simulations/correction.md), as its method says. No verdict may rest on it.

    Args:
        words: the predicted label of every image, per prompt: +1, -1, or 0 for undetected.
        labels: people's word on the same images: +1, -1, 0, or NaN where there is no label.
        level: confidence level in (0, 1).
        seed: seed of the draws.
        draws: number of draws.

    Returns:
        Interval in [0, 1] of the rates' uncertainty, no confidence interval of the score.

    Raises:
        ValueError: no labelled image of one gender was kept, or the detector is no better than
            chance.

    >>> words, people = [[1.0, 1, -1, 1]] * 2, [[1.0, 1, -1, -1]] * 2
    >>> adjusted_model_bias_score(words, people, level=0.95, seed=0).estimate
    0.0
    """
    check_level(level)
    w, y = (np.concatenate([np.asarray(a, float) for a in arrays]) for arrays in (words, labels))
    men, women = (w != 0) & (y == 1), (w != 0) & (y == -1)
    hits, misses = int(np.sum(men & (w == 1))), int(np.sum(men & (w == -1)))
    right, wrong = int(np.sum(women & (w == -1))), int(np.sum(women & (w == 1)))
    if not hits + misses or not right + wrong:
        raise ValueError("no labelled image of one gender was kept: its error rate is not known")
    if hits / (hits + misses) + right / (right + wrong) <= 1.0:
        raise ValueError("the detector is no better than chance on the labelled images")
    kept = [np.asarray(word, float) for word in words if np.any(np.asarray(word, float) != 0)]
    shares = np.array([np.sum(entry > 0) / np.sum(entry != 0) for entry in kept])
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
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, ROGAN_GLADEN, len(shares)
    )


def _prompt_intervals(
    strata: Sequence[Stratum], scores: inputs.Floats, variances: inputs.Floats, level: float
) -> list[Interval]:
    """Interval of each prompt, whose variance is at least the pooled one.

    Few labels that all agree do not show that there is no error: with the own variance joined from
    below, single prompts were covered in 0.90 to 0.93 at 10 to 15 labels
    (tests/simulations/correction.md).
    """
    pooled = float(np.mean(variances))
    intervals = []
    for k, stratum in enumerate(strata):
        freedom = stratum.labelled - 1
        more = freedom * max(0.0, float(variances[k]) - pooled) / (freedom + BORROWED)
        complete = stratum.labelled == stratum.size
        quantile = float(scipy.stats.t.ppf((1.0 + level) / 2.0, freedom + BORROWED))
        half = 0.0 if complete else quantile * math.sqrt(pooled + more)
        score = float(scores[k])
        low, high = max(-1.0, score - half), min(1.0, score + half)
        intervals.append(Interval(score, low, high, level, "ppi++", stratum.labelled))
    return intervals


def _plain(strata: Sequence[Stratum]) -> float:
    scores = [
        stratum.words.sum() / stratum.clear_words.sum()
        for stratum in strata
        if np.any(stratum.words)
    ]
    if not scores:
        raise ValueError("words hold no clear image")
    return float(np.mean(np.abs(scores)))


def _to_halve(strata: Sequence[Stratum]) -> int | None:
    """The variance goes with 1/n - 1/N; a quarter of it halves the interval."""
    more = 0.0
    for stratum in strata:
        left = 1.0 / stratum.labelled - 1.0 / stratum.size
        more += 1.0 / (1.0 / stratum.size + left / 4.0) - stratum.labelled
    return math.ceil(more) or None
