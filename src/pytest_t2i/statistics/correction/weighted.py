"""The model bias score corrected by labels of images drawn with known, unequal probabilities.

Active inference (Zrnic and Candes 2024): what the labels say is weighted by 1 / probability, so a
detector's mistakes are seen without bias though doubtful images are drawn more often. With one
label or none a prompt it is not the prompts that are corrected but their mean alone
(docs/decisions/0004, tests/simulations/for_correction.md).
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
"""Labels below which a normal interval of weighted mistakes is not worth its name."""
METHOD = "active ppi++"
FITTED = 2
"""Numbers of the calibration that labels are spent on."""


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """What people would say of all images of a run, by few labels in doubtful places.

    >>> WeightedScore((0.5,), (20.0,), 0.5, 0.02, 0.0, 100).interval(0.95)
    Interval(estimate=0.5, low=0.46..., high=0.53..., level=0.95, method='active ppi++', n=1)
    """

    prompts: tuple[float, ...]
    """Prompt bias scores as far as detector and calibration tell, -1 to 1."""
    clear: tuple[float, ...]
    """Clear images per prompt, estimated."""
    least: float
    """Model bias score with the sign of each prompt as it seems: the true one is no smaller."""
    error: float
    """Standard error of it."""
    turned: float
    """What prompts add whose sign is another than it seems, as far as the model tells."""
    labels: int
    """Labelled images."""

    def interval(self, level: float) -> Interval:
        """Model bias score that people would give these very images."""
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
        """Male and female images per prompt as they would be at a model bias score.

        All prompts' scores are stretched by one factor, none beyond 1. What is said of the model
        beyond these images rests on such counts.
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
    """Model bias score corrected by labels of images that were drawn with known probabilities.

    A detector's log odds are calibrated by the labels and joined with the other images of a prompt
    (``likely_signs``) into an expected sign x and clearness h of each image. What people say beyond
    that is weighted by 1 / p. With G the score of a prompt by x and h, and H its mean h,

    .. math:: T = mean |G| + mean of (1/p) sign(G) ((y - G c) - (x h - G h)) / H

    is right on average for the mean of sign(G) times people's score, whatever the detector is
    worth; that mean is the model bias score but for prompts whose sign G has wrong. What these
    add is estimated from the doubt left in each prompt (``folding_bias``'s normal model) and widens
    the interval upwards. Images with p = 1 count as people say.

    Args:
        log_odds: log odds of male by the detector, per prompt, [n_images] each; NaN where it
            gave no label.
        labels: people's word on the same images: +1, -1, 0 not clear, or NaN where there is none.
        probabilities: with which each image was drawn and labelled, in (0, 1].

    Raises:
        ValueError: fewer than LEAST_DRAWN labels, shapes differ, or a probability is none.

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
    said, c = np.nan_to_num(images.said), np.abs(np.nan_to_num(images.said))
    beyond = (said - score[each] * c) - (likely * clear - score[each] * clear)
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
    """Images of all prompts, one after the other, [n_images]."""

    prompt: npt.NDArray[np.int64]
    """Number of its prompt."""
    odds: inputs.Floats
    """Log odds; NaN where the detector gave no label."""
    said: inputs.Floats
    """People's sign; NaN where there is none."""
    probability: inputs.Floats

    @property
    def known(self) -> inputs.Bools:
        """Whether people labelled it."""
        return ~np.isnan(self.said)

    @property
    def sure(self) -> inputs.Bools:
        """Whether it was sure to be labelled."""
        return self.known & (self.probability >= 1.0)


def _images(
    log_odds: Sequence[npt.ArrayLike],
    labels: Sequence[npt.ArrayLike],
    probabilities: Sequence[npt.ArrayLike],
) -> _Images:
    each = []
    for k, parts in enumerate(zip(log_odds, labels, probabilities, strict=True)):
        odds, said, chance = (np.asarray(part, dtype=np.float64) for part in parts)
        name = f"[{k}]"
        inputs.same_shape(**{f"log_odds{name}": odds, f"labels{name}": said})
        inputs.same_shape(**{f"log_odds{name}": odds, f"probabilities{name}": chance})
        inputs.in_range(f"probabilities{name}", chance, 0.0, 1.0)
        if not len(odds) or np.any(chance <= 0.0):
            raise ValueError(f"every image needs a probability above 0, got probabilities{name}")
        each.append((np.full(len(odds), k), odds, said, chance))
    images = _Images(*(np.concatenate(part) for part in zip(*each, strict=True)))
    if (labelled := int(images.known.sum())) < LEAST_DRAWN:
        raise ValueError(f"expected at least {LEAST_DRAWN} labels, got {labelled}")
    return images


def _expected(images: _Images) -> tuple[inputs.Floats, inputs.Floats]:
    """Expected sign of each image if it is clear, and how likely it is clear."""
    odds, weights = np.nan_to_num(images.odds), 1.0 / images.probability
    shown = images.known & (images.said != 0.0)
    calibration = calibrated(odds[shown], images.said[shown], weights[shown])
    starts = np.flatnonzero(np.diff(images.prompt)) + 1
    likely = np.concatenate(likely_signs(np.split(odds, starts), calibration))
    clear = np.zeros(len(odds))
    unit = weights[images.known].mean()
    # Without labels one that has a label is clear, one that has none as likely as not.
    for gave, prior in ((np.isnan(images.odds), 1.0), (~np.isnan(images.odds), 0.5)):
        of = gave & images.known
        w = weights[of] / unit
        clear[gave] = (float(w @ np.abs(images.said[of])) + 0.5) / (float(w.sum()) + prior)
    likely = np.where(images.sure & (images.said != 0.0), images.said, likely)
    clear = np.where(images.sure, np.abs(images.said), clear)
    return likely, np.maximum(clear, 1e-6)


def _weighted_mean(values: inputs.Floats, probability: inputs.Floats) -> tuple[float, float]:
    """Mean over all images of values known of those drawn, and its standard error (Hajek)."""
    weights = 1.0 / probability
    mean = float(weights @ values / weights.sum())
    n = len(values)
    off = weights / weights.sum() * (values - mean)
    spread = float(np.sum((1.0 - probability) * off**2))
    return mean, math.sqrt(spread * n / (n - 1.0 - FITTED))


def _folded(score: inputs.Floats, variance: inputs.Floats) -> inputs.Floats:
    """E|N(m, v)| - m for scores that carry no noise themselves."""
    return folding_bias(np.sqrt(score**2 + variance), variance)


def _factor(scores: inputs.Floats, mean: float) -> float:
    """By which absolute scores are multiplied, and cut at 1, to have this mean."""
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
