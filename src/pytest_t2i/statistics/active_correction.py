"""Active inference: people label the images with doubtful labels, and correct the model's score.

A label is worth most where the detector may be wrong (Zrnic and Candes 2024). Images are drawn with
known, unequal probabilities, and labels are weighted by 1 / probability (Hajek's estimator), so the
detector's errors are estimated nearly without bias though doubtful images are drawn more often.
With one label or none per prompt, the mean over prompts is corrected, not each prompt
(docs/decisions/0004, tests/simulations/for_correction.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import ROUNDING, Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.correction import folding_bias
from pytest_t2i.statistics.shares import bisected, check_level, containing

EVENLY = 0.2
"""Share of the labels that is spread evenly over all images, as a detector may be wrong and
certain."""


def choice_probabilities(doubt: npt.ArrayLike, count: int) -> inputs.Floats:
    """Return the inclusion probability of each image when ``count`` images are drawn.

    .. math:: p_i = count (0.8 d_i / sum d + 0.2 / N), cut at 1 and the rest spread alike

    (Neyman allocation: the variance of a sum weighted by 1 / p is least in proportion to doubt d.)
    """
    spread = inputs.counts("doubt", doubt)
    inputs.one_dimensional(doubt=spread)
    if not 1 <= count <= len(spread):
        raise ValueError(f"count must lie between 1 and {len(spread)}, got count={count}")
    even = np.full(len(spread), 1.0 / len(spread))
    share = (1.0 - EVENLY) * spread / spread.sum() + EVENLY * even if spread.any() else even
    sure = np.zeros(len(spread), dtype=bool)
    while True:
        left = count - int(sure.sum())
        chances = np.where(sure, 1.0, share * left / max(share[~sure].sum(), ROUNDING))
        beyond = ~sure & (chances >= 1.0 - ROUNDING)
        if not beyond.any():
            return np.asarray(chances, dtype=np.float64)
        sure |= beyond


def draw_sample(probabilities: npt.ArrayLike, seed: int) -> npt.NDArray[np.int64]:
    """Draw a fixed number of images with given inclusion probabilities (Deville and Tille 1998)."""
    left = np.array(inputs.in_range("probabilities", probabilities, 0.0, 1.0))
    if abs(left.sum() - round(left.sum())) > ROUNDING * max(1, len(left)):
        raise ValueError(f"probabilities must sum to a whole number, got {left.sum()}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(left))
    first = order[0]
    for second in order[1:]:
        stays = _duel(left, first, second, rng)
        first = second if stays == first else first
    return np.flatnonzero(left > 0.5)  # noqa: PLR2004 - what is left of rounding


def _duel(left: inputs.Floats, a: int, b: int, rng: np.random.Generator) -> int:
    """Set one of two probabilities to 0 or 1, the other to the rest; return the settled index."""
    total = left[a] + left[b]
    if total <= ROUNDING:
        left[a] = 0.0
        return a
    settled = 0.0 if total < 1.0 else 1.0
    # This chance of settling b keeps both inclusion probabilities.
    chance = left[a] / total if total < 1.0 else (1.0 - left[a]) / max(2.0 - total, ROUNDING)
    place, rest = (b, a) if rng.random() < chance else (a, b)
    left[place], left[rest] = settled, total - settled
    return place


ROUNDS = 60
"""Number of iterations for the prompts' shares."""
CLOSE = 1e-4
"""Change of a share at which the iteration ends."""
STEPS = 25
LARGEST = 8.0
"""Largest log odds, so that no probability is 0 or 1."""
SLOPES = 0.7
"""Prior standard deviation of the slope around 1."""


class Calibration(NamedTuple):
    """The linear calibration of a detector's log odds: ``shift + slope * log odds``."""

    shift: float = 0.0
    slope: float = 1.0


def likely_signs(
    log_odds: Sequence[inputs.Floats], calibration: Calibration
) -> list[inputs.Floats]:
    """Return the expected sign of each clear image, from -1 (female) to 1 (male), per prompt.

    Bayes' rule with the prompt's share of men, from its own images (EM, prior Beta(1/2, 1/2)).
    """
    return [_of_prompt(np.asarray(odds, dtype=np.float64), calibration) for odds in log_odds]


def _of_prompt(log_odds: inputs.Floats, calibration: Calibration) -> inputs.Floats:
    calibrated_odds = calibration.shift + calibration.slope * log_odds
    odds = np.exp(np.clip(calibrated_odds, -LARGEST, LARGEST))
    share, before = 0.5, 0.0
    male = odds / (odds + 1.0)
    for _ in range(ROUNDS):
        if abs(share - before) < CLOSE:
            break
        before, share = share, (float(male.sum()) + 0.5) / (len(odds) + 1.0)
        male = odds * share / (odds * share + 1.0 - share)
    return np.asarray(2.0 * male - 1.0, dtype=np.float64)


def doubts(log_odds: Sequence[inputs.Floats]) -> list[inputs.Floats]:
    """Return the standard deviation of the label that people would give to each image, per prompt.

    It is sqrt(1 - x^2) for an expected sign x; an unlabelled image is clear with probability 1/2.
    """
    signs = likely_signs([np.nan_to_num(odds) for odds in log_odds], Calibration())
    return [
        np.sqrt((1.0 - sign**2) * np.where(np.isnan(odds), 0.5, 1.0))
        for sign, odds in zip(signs, log_odds, strict=True)
    ]


def calibrated(
    log_odds: inputs.Floats, signs: inputs.Floats, weights: inputs.Floats
) -> Calibration:
    """Return the calibration of a detector's log odds that labelled images suggest.

    It is a weighted logistic regression, without the overall share of men; a normal prior draws the
    slope towards 1.
    """
    if not len(signs):
        return Calibration()
    weight, male = weights / weights.mean(), (signs > 0.0).astype(np.float64)
    intercept, slope = 0.0, 1.0
    for _ in range(STEPS):
        expected = scipy.special.expit(np.clip(intercept + slope * log_odds, -30.0, 30.0))
        off, curve = weight * (male - expected), weight * expected * (1.0 - expected)
        pull = 1.0 / SLOPES**2
        gradient = np.array([off.sum(), off @ log_odds - pull * (slope - 1.0)])
        cross = curve @ log_odds
        hessian = np.array([[curve.sum() + 1e-3, cross], [cross, curve @ log_odds**2 + pull]])
        step = np.clip(np.linalg.solve(hessian, gradient), -1.0, 1.0)
        intercept, slope = intercept + float(step[0]), max(0.0, slope + float(step[1]))
    share = (float(weight @ male) + 0.5) / (float(weight.sum()) + 1.0)
    return Calibration(intercept - float(scipy.special.logit(share)), slope)


LEAST_DRAWN = 30
"""Fewest labels for a normal approximation of the weighted errors."""
METHOD = "active ppi++"
FITTED = 2
"""Number of parameters of the calibration, subtracted from the degrees of freedom."""


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """The model bias score that people would give, estimated from few labels of doubtful images."""

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
        ends = max(0.0, low), min(1.0, high)
        return containing(middle, ends, level, METHOD, len(self.prompts))

    def counts_at(self, score: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return male and female images per prompt for this score: all scores times a factor."""
        scores, n = np.array(self.prompts), np.rint(np.maximum(1.0, np.array(self.clear)))
        factor = _factor(np.abs(scores), min(1.0, max(0.0, score)))
        stretched = np.clip(factor * scores, -1.0, 1.0)
        male = np.rint(n * (1.0 + stretched) / 2.0).astype(np.int64)
        return male, n.astype(np.int64) - male


def weighted_score(
    log_odds: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    probabilities: Sequence[npt.ArrayLike],
) -> WeightedScore:
    """Return the model bias score corrected by labels of images drawn with known probabilities.

    With an expected sign x and a probability h of being clear for each image (``likely_signs``), G
    the score of a prompt by them, and H its mean h,

    .. math:: T = mean |G| + mean of (1/p) sign(G) ((y - G c) - (x h - G h)) / H

    has the mean of sign(G) times people's score as its approximate expectation, for a detector of
    any quality. Prompts whose sign(G) is wrong widen the interval upwards (``folding_bias``).
    """
    images = _images(log_odds, labels, probabilities)
    likely, clear = _expected(images)
    sums = [np.bincount(images.prompt, weights=part) for part in (likely * clear, clear)]
    sizes = np.bincount(images.prompt).astype(np.float64)
    score, clear_share = sums[0] / sums[1], sums[1] / sizes
    sign = np.where(score >= 0.0, 1.0, -1.0)
    prompt = images.prompt
    signs, c = np.nan_to_num(images.signs), np.abs(np.nan_to_num(images.signs))
    beyond = (signs - score[prompt] * c) - (likely * clear - score[prompt] * clear)
    # One image's part of the mean over prompts.
    part = 1.0 / (len(sizes) * sizes[prompt])
    mistakes = (sign[prompt] * beyond / clear_share[prompt] * part * len(prompt))[images.has_label]
    correction, error = _weighted_mean(mistakes, images.probability[images.has_label])
    doubt = np.where(images.sure, 0.0, clear - (likely * clear) ** 2)
    variance = np.bincount(prompt, weights=doubt) / (sizes * clear_share) ** 2
    return WeightedScore(
        tuple(score.tolist()),
        tuple((clear_share * sizes).tolist()),
        float(np.mean(np.abs(score))) + correction,
        error,
        float(np.mean(folding_bias(np.sqrt(score**2 + variance), variance))),
        int(images.has_label.sum()),
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
    def has_label(self) -> inputs.Bools:
        """Whether people labelled the image."""
        return ~np.isnan(self.signs)

    @property
    def sure(self) -> inputs.Bools:
        """Whether the image was labelled with certainty."""
        return self.has_label & (self.probability >= 1.0)


def _images(
    log_odds: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    probabilities: Sequence[npt.ArrayLike],
) -> _Images:
    rows = []
    for k, parts in enumerate(zip(log_odds, labels, probabilities, strict=True)):
        odds, signs, chance = (np.asarray(part, dtype=np.float64) for part in parts)
        name = f"[{k}]"
        inputs.same_shape(**{f"log_odds{name}": odds, f"labels{name}": signs})
        inputs.same_shape(**{f"log_odds{name}": odds, f"probabilities{name}": chance})
        inputs.in_range(f"probabilities{name}", chance, 0.0, 1.0)
        if not len(odds) or np.any(chance <= 0.0):
            raise ValueError(f"every image needs a probability above 0, got probabilities{name}")
        rows.append((np.full(len(odds), k), odds, signs, chance))
    images = _Images(*(np.concatenate(part) for part in zip(*rows, strict=True)))
    if (labelled := int(images.has_label.sum())) < LEAST_DRAWN:
        raise ValueError(f"expected at least {LEAST_DRAWN} labels, got {labelled}")
    return images


def _expected(images: _Images) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the expected sign of each image if clear, and the probability that it is clear."""
    odds, weights = np.nan_to_num(images.odds), 1.0 / images.probability
    has_gender = images.has_label & (images.signs != 0.0)
    calibration = calibrated(odds[has_gender], images.signs[has_gender], weights[has_gender])
    starts = np.flatnonzero(np.diff(images.prompt)) + 1
    likely = np.concatenate(likely_signs(np.split(odds, starts), calibration))
    clear = np.zeros(len(odds))
    unit = weights[images.has_label].mean()
    # Prior: an image with a predicted label is clear, one without is clear with probability 1/2.
    for gave, prior in ((np.isnan(images.odds), 1.0), (~np.isnan(images.odds), 0.5)):
        labelled = gave & images.has_label
        w = weights[labelled] / unit
        clear[gave] = (float(w @ np.abs(images.signs[labelled])) + 0.5) / (float(w.sum()) + prior)
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


def _factor(scores: inputs.Floats, mean: float) -> float:
    """Return the factor of absolute scores, clipped at 1, that gives them this mean."""
    low, high = 0.0, 1.0
    if not np.any(scores > 0.0):
        return 0.0
    largest = 2.0 / float(np.min(scores[scores > 0.0]))
    while np.minimum(1.0, high * scores).mean() < mean and high < largest:
        low, high = high, 2.0 * high
    return bisected(lambda f: np.minimum(1.0, f * scores).mean() >= mean, low, high, 50)[1]
