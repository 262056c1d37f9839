"""The model bias score corrected by labels of images drawn with known, unequal probabilities.

This is active inference (Zrnic and Candes 2024): labels are weighted by 1 / probability (Hajek's
estimator), so the detector's errors are estimated nearly without bias though doubtful images are
drawn more often. With one label or none per prompt, the mean over prompts is corrected, not each
prompt (docs/decisions/0004, tests/simulations/for_correction.md).
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
from pytest_t2i.statistics.correction.label_noise import folding_bias
from pytest_t2i.statistics.correction.likely import calibrated, likely_signs
from pytest_t2i.statistics.shares.intervals import check_level

LEAST_DRAWN = 30
"""Fewest labels for a normal approximation of the weighted errors."""
METHOD = "active ppi++"
FITTED = 2
"""Number of parameters of the calibration, subtracted from the degrees of freedom."""


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """The model bias score that people would give, estimated from few labels of doubtful images.

    >>> WeightedScore((0.5,), (20.0,), 0.5, 0.02, 0.0, 100).interval(0.95)
    Interval(estimate=0.5, low=0.46..., high=0.53..., level=0.95, method='active ppi++', n=1)
    """

    prompts: tuple[float, ...]
    """Prompt bias scores by detector and calibration, from -1 to 1."""
    clear: tuple[float, ...]
    """Estimated number of clear images per prompt."""
    least: float
    """Model bias score with the estimated sign of each prompt; its expectation is at most the true
    score."""
    error: float
    """Standard error of ``least``."""
    turned: float
    """Estimated contribution of prompts whose estimated sign is wrong."""
    labels: int
    """Number of labelled images."""

    def interval(self, level: float) -> Interval:
        """Return the interval of the model bias score that people would give to these images."""
        check_level(level)
        t = float(scipy.stats.t.ppf((1.0 + level) / 2.0, max(1, self.labels - 1 - FITTED)))
        low, high = self.least - t * self.error, self.least + self.turned + t * self.error
        middle = min(1.0, max(0.0, self.least + self.turned))
        return Interval(
            middle,
            min(middle, max(0.0, low)),
            max(middle, min(1.0, high)),
            level,
            METHOD,
            len(self.prompts),
        )

    def counts_at(self, score: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return male and female images per prompt such that the model has a given bias score.

        The scores of all prompts are multiplied by one factor and clipped at 1. Inference on the
        model beyond these images uses such counts.
        """
        own, n = np.array(self.prompts), np.rint(np.maximum(1.0, np.array(self.clear)))
        factor = _factor(np.abs(own), min(1.0, max(0.0, score)))
        stretched = np.clip(factor * own, -1.0, 1.0)
        male = np.rint(n * (1.0 + stretched) / 2.0).astype(np.int64)
        return male, n.astype(np.int64) - male


def weighted_score(
    log_odds: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    probabilities: Sequence[npt.ArrayLike],
) -> WeightedScore:
    """Return the model bias score corrected by labels of images drawn with known probabilities.

    The labels calibrate a detector's log odds, which together with the other images of a prompt
    (``likely_signs``) give an expected sign x and a probability h of being clear for each image.
    The deviations of people's labels from these are weighted by 1 / p. With G the score of a prompt
    by x and h, and H its mean h,

    .. math:: T = mean |G| + mean of (1/p) sign(G) ((y - G c) - (x h - G h)) / H

    has the mean of sign(G) times people's score as its approximate expectation, for a detector of
    any quality. That mean is the model bias score, except for prompts whose sign(G) is wrong. Their
    contribution is estimated from the remaining doubt about each prompt (the normal model of
    ``folding_bias``) and widens the interval upwards. Images with p = 1 enter with people's labels.

    Args:
        log_odds: the detector's log odds of male, per prompt, [n_images] each; NaN where there is
            no predicted label.
        labels: people's label of the same images: +1, -1, 0 not clear, or NaN without a label.
        probabilities: probability with which each image was drawn and labelled, in (0, 1].

    Raises:
        ValueError: fewer than LEAST_DRAWN labels, shapes differ, or a probability is outside
            (0, 1].

    >>> odds = [[2.0, 2, 2, -2]] * 10
    >>> found = weighted_score(odds, [[1.0, 1, 1, 1]] * 10, [[1.0] * 4] * 10)
    >>> round(found.interval(0.95).estimate, 3)
    1.0
    """
    images = _images(log_odds, labels, probabilities)
    likely, clear = _expected(images)
    sums = [np.bincount(images.prompt, weights=part) for part in (likely * clear, clear)]
    sizes = np.bincount(images.prompt).astype(np.float64)
    score, shown = sums[0] / sums[1], sums[1] / sizes
    sign = np.where(score >= 0.0, 1.0, -1.0)
    each = images.prompt
    signs, c = np.nan_to_num(images.signs), np.abs(np.nan_to_num(images.signs))
    beyond = (signs - score[each] * c) - (likely * clear - score[each] * clear)
    # One image's part of the mean over prompts.
    part = 1.0 / (len(sizes) * sizes[each])
    mistakes = (sign[each] * beyond / shown[each] * part * len(each))[images.known]
    correction, error = _weighted_mean(mistakes, images.probability[images.known])
    doubt = np.where(images.sure, 0.0, clear - (likely * clear) ** 2)
    variance = np.bincount(each, weights=doubt) / (sizes * shown) ** 2
    return WeightedScore(
        tuple(score.tolist()),
        tuple((shown * sizes).tolist()),
        float(np.mean(np.abs(score))) + correction,
        error,
        float(np.mean(_folded(score, variance))),
        int(images.known.sum()),
    )


@dataclass(frozen=True, slots=True)
class _Images:
    """The images of all prompts, one after the other, [n_images]."""

    prompt: npt.NDArray[np.int64]
    """Index of the image's prompt."""
    odds: inputs.Floats
    """Log odds; NaN where the detector gave no label."""
    signs: inputs.Floats
    """People's sign; NaN without a label."""
    probability: inputs.Floats

    @property
    def known(self) -> inputs.Bools:
        """Whether people labelled the image."""
        return ~np.isnan(self.signs)

    @property
    def sure(self) -> inputs.Bools:
        """Whether the image was labelled with certainty."""
        return self.known & (self.probability >= 1.0)


def _images(
    log_odds: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    probabilities: Sequence[npt.ArrayLike],
) -> _Images:
    each = []
    for k, parts in enumerate(zip(log_odds, labels, probabilities, strict=True)):
        odds, signs, chance = (np.asarray(part, dtype=np.float64) for part in parts)
        name = f"[{k}]"
        inputs.same_shape(**{f"log_odds{name}": odds, f"labels{name}": signs})
        inputs.same_shape(**{f"log_odds{name}": odds, f"probabilities{name}": chance})
        inputs.in_range(f"probabilities{name}", chance, 0.0, 1.0)
        if not len(odds) or np.any(chance <= 0.0):
            raise ValueError(f"every image needs a probability above 0, got probabilities{name}")
        each.append((np.full(len(odds), k), odds, signs, chance))
    images = _Images(*(np.concatenate(part) for part in zip(*each, strict=True)))
    if (labelled := int(images.known.sum())) < LEAST_DRAWN:
        raise ValueError(f"expected at least {LEAST_DRAWN} labels, got {labelled}")
    return images


def _expected(images: _Images) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the expected sign of each image if clear, and the probability that it is clear."""
    odds, weights = np.nan_to_num(images.odds), 1.0 / images.probability
    shown = images.known & (images.signs != 0.0)
    calibration = calibrated(odds[shown], images.signs[shown], weights[shown])
    starts = np.flatnonzero(np.diff(images.prompt)) + 1
    likely = np.concatenate(likely_signs(np.split(odds, starts), calibration))
    clear = np.zeros(len(odds))
    unit = weights[images.known].mean()
    # Prior: an image with a predicted label is clear, one without is clear with probability 1/2.
    for gave, prior in ((np.isnan(images.odds), 1.0), (~np.isnan(images.odds), 0.5)):
        of = gave & images.known
        w = weights[of] / unit
        clear[gave] = (float(w @ np.abs(images.signs[of])) + 0.5) / (float(w.sum()) + prior)
    likely = np.where(images.sure & (images.signs != 0.0), images.signs, likely)
    clear = np.where(images.sure, np.abs(images.signs), clear)
    return likely, np.maximum(clear, 1e-6)


def _weighted_mean(values: inputs.Floats, probability: inputs.Floats) -> tuple[float, float]:
    """Return the mean over all images from the drawn ones, and its standard error (Hajek)."""
    weights = 1.0 / probability
    mean = float(weights @ values / weights.sum())
    n = len(values)
    off = weights / weights.sum() * (values - mean)
    spread = float(np.sum((1.0 - probability) * off**2))
    return mean, math.sqrt(spread * n / (n - 1.0 - FITTED))


def _folded(score: inputs.Floats, variance: inputs.Floats) -> inputs.Floats:
    """Return E|N(m, v)| - m for scores m without noise."""
    return folding_bias(np.sqrt(score**2 + variance), variance)


def _factor(scores: inputs.Floats, mean: float) -> float:
    """Return the factor of absolute scores, clipped at 1, that gives them this mean."""
    low, high = 0.0, 1.0
    if not np.any(scores > 0.0):
        return 0.0
    largest = 2.0 / float(np.min(scores[scores > 0.0]))
    while np.minimum(1.0, high * scores).mean() < mean and high < largest:
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = (low + high) / 2.0
        if np.minimum(1.0, middle * scores).mean() < mean:
            low = middle
        else:
            high = middle
    return high
