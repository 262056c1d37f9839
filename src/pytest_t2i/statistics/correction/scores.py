"""Prediction-powered inference: few labels of people correct the predicted labels of all images.

The method is PPI++ (Angelopoulos, Duchi and Zrnic 2023). docs/decisions/0004 describes its use
here; tests/simulations/correction.py checks bias and coverage.
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
"""Weight, in degrees of freedom, of the pooled variance against a prompt's own larger variance."""

ROGAN_GLADEN = "rogan-gladen, error rates only"


@dataclass(frozen=True, slots=True)
class CorrectedScores:
    """The bias scores that people would give to all images of a run, estimated from few labels.

    >>> nan = float("nan")
    >>> scores = corrected_scores([[1, 1, 1, -1] * 2] * 2, [[1, 1, -1, nan] * 2] * 2, 0.95)
    >>> scores.labels, len(scores.prompts)
    (12, 2)
    """

    prompts: tuple[Interval, ...]
    """Prompt bias score per prompt, in the order given."""
    male: tuple[float, ...]
    """Estimated number of images that people would label male, per prompt."""
    female: tuple[float, ...]
    """Estimated number of images that people would label female, per prompt."""
    effective_male: tuple[int, ...]
    """Male images of each prompt's effective counts (``effective_counts``).

    An interval or a verdict on the model uses these counts, and adds no half-width of the
    labels."""
    effective_female: tuple[int, ...]
    """Female images of each prompt's effective counts."""
    model: Interval
    """Model bias score (Lyu eq. 1) that people would give to these very images."""
    detector: float
    """Model bias score of the predicted labels alone."""
    labels: int
    """Number of labelled images."""
    labels_to_halve: int | None
    """Approximate number of further labels, spread evenly, that would halve the model's interval;
    None where every image is labelled."""


def corrected_scores(
    words: Sequence[npt.ArrayLike], labels: Sequence[npt.ArrayLike], level: float
) -> CorrectedScores:
    """Return bias scores corrected by the labels of people on a random sample of the images.

    For each prompt, the mean sign s (+1 male, -1 female, 0 not clear) and the share of clear images
    c are the detector's means minus its mean error on the labelled images, as in PPI++ with one
    power parameter l for all prompts; the score is the ratio s/c. Intervals are for the score that
    people would give to these very images (finite population), so labelled images add no
    uncertainty. They are approximate. The low end of the model's interval is lowered by the upward
    bias that label noise gives to absolute scores. Inference on the model beyond these images uses
    the effective counts, never a sum of half-widths.

    .. math:: s = l mean(f) + mean_L(y - l f);  Var = S^2 (1/n - 1/N), S^2 of residuals

    Args:
        words: the predicted label of every image, per prompt: +1, -1, or 0 for undetected.
        labels: people's label of the same images: +1, -1, 0 not clear, or NaN without a label.
        level: confidence level in (0, 1).

    Returns:
        Scores per prompt and of the model.

    Raises:
        ValueError: a prompt has fewer than five labels, lengths differ, or no image is clear.

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
    """Return the model bias score with each prompt's share adjusted for the error rates.

    .. math:: p = (p_detected + specificity - 1) / (sensitivity + specificity - 1), cut to [0, 1]
       (Rogan and Gladen 1978)

    Both rates are estimated from all labelled images that are clear and were kept. The estimator
    corrects neither the filter's errors nor the upward bias that noise gives to absolute scores.

    Only the estimate is a second opinion on ``corrected_scores``. The interval, from draws of the
    rates (Beta, Jeffreys prior), ignores the sampling of images: it covers the score of fair and
    mildly biased models in less than 1 % of runs (tests/simulations/correction.md). No verdict may
    rest on it; its method names this limit.

    Args:
        words: the predicted label of every image, per prompt: +1, -1, or 0 for undetected.
        labels: people's label of the same images: +1, -1, 0 not clear, or NaN without a label.
        level: confidence level in (0, 1).
        seed: seed of the draws.
        draws: number of draws.

    Returns:
        Interval in [0, 1] for the uncertainty of the rates alone; no confidence interval of the
        score.

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
        raise ValueError("no labelled image of one gender was kept: its error rate is unknown")
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
    """Return the interval of each prompt, whose variance is at least the pooled one.

    Few labels that all agree do not show that there is no error: where variances below the pooled
    one were allowed, single prompts were covered in 0.90 to 0.93 at 10 to 15 labels
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
        stratum.predicted.sum() / stratum.clear_predicted.sum()
        for stratum in strata
        if np.any(stratum.predicted)
    ]
    if not scores:
        raise ValueError("words hold no clear image")
    return float(np.mean(np.abs(scores)))


def _to_halve(strata: Sequence[Stratum]) -> int | None:
    """Return the further labels that divide the variance, proportional to 1/n - 1/N, by four."""
    more = 0.0
    for stratum in strata:
        left = 1.0 / stratum.labelled - 1.0 / stratum.size
        more += 1.0 / (1.0 / stratum.size + left / 4.0) - stratum.labelled
    return math.ceil(more) or None
