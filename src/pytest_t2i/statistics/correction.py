"""Prediction-powered inference: few labels of people correct the predicted labels of all images.

The method is PPI++ (Angelopoulos, Duchi and Zrnic 2023), with prompts as strata; decision 0004
describes its use, and tests/simulations/correction.py checks bias and coverage. The evidence about
one prompt, or with fewer than ten prompts or labels of each, is people's labels alone, whatever the
detector's errors are; that about a suite is effective counts, which express the uncertainty of
labels as a smaller number of images.
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
from pytest_t2i.statistics.model import midpoints
from pytest_t2i.statistics.shares import check_level, containing, prompt_bias_interval

Whole = npt.NDArray[np.int64]


def effective_counts(
    male: npt.ArrayLike, female: npt.ArrayLike, variance: npt.ArrayLike
) -> tuple[Whole, Whole]:
    """Return whole counts of as many error-free images as leave the same uncertainty.

    With b the variance from images and v from labels, both pooled over prompts,

    .. math:: n_eff = n B / (B + V),  B = mean of (1 - s^2 + v) / (n - 1),  V = mean of v

    as ``E s^2 = t^2 + (1 - t^2) / n + v`` for the true score t (tests/simulations/correction.md).
    """
    men, women = inputs.counts("male", male), inputs.counts("female", female)
    v = inputs.counts("variance", variance)
    inputs.one_dimensional(male=men, female=women, variance=v)
    inputs.same_shape(male=men, female=women, variance=v)
    n = men + women
    if not np.all(n > 0.0):
        raise ValueError(f"male and female must not both be 0, got prompt {int(np.argmin(n))}")
    score = (men - women) / n
    has_several, label = n > 1.0, float(np.mean(v))
    b = 1.0
    if any(has_several):
        b = float(np.mean((1.0 - score**2 + v)[has_several] / (n[has_several] - 1.0)))
    share = b / (b + label) if label > 0.0 else 1.0
    total = np.maximum(1, np.rint(n * share)).astype(np.int64)
    corrected_men = np.rint(total * (1.0 + score) / 2.0).astype(np.int64)
    return corrected_men, total - corrected_men


def folding_bias(score: npt.ArrayLike, variance: npt.ArrayLike) -> inputs.Floats:
    """Return the expected increase of an absolute score by noise of a given variance.

    .. math:: E|N(m, v)| - m,  m^2 = max(0, s^2 - v)      (the folded normal distribution)
    """
    s, v = inputs.floats("score", score), inputs.counts("variance", variance)
    inputs.same_shape(score=s, variance=v)
    mean, spread = np.sqrt(np.maximum(0.0, s**2 - v)), np.sqrt(v)
    far = np.divide(mean, spread, out=np.full_like(mean, np.inf), where=spread > 0.0)
    folded = 2.0 * spread * scipy.stats.norm.pdf(far) + mean * (
        1.0 - 2.0 * scipy.stats.norm.cdf(-far)
    )
    return np.asarray(folded - mean, dtype=np.float64)


LEAST_LABELS = 5
"""Fewest labels of a prompt. With two or three, whose spread is hardly known, verdicts on the model
at a limit equal to the truth were wrong in .115 to .160 at a stated 0.05."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """The values of one prompt's images, [n_images] each; people's values are 0 where unknown."""

    predicted: inputs.Floats
    """The detector's signs: 1 male, -1 female, 0 not clear."""
    labels: inputs.Floats
    """People's values."""
    clear_predicted: inputs.Floats
    """1 where the detector gave a label."""
    clear_labels: inputs.Floats
    """1 where people gave a label other than "not clear"."""
    has_label: inputs.Bools
    """Whether people labelled the image."""

    @property
    def size(self) -> int:
        """Number of images."""
        return len(self.predicted)

    @property
    def labelled(self) -> int:
        """Number of images that people labelled."""
        return int(self.has_label.sum())

    def values(self, *, clear: bool) -> tuple[inputs.Floats, inputs.Floats]:
        """Return people's and the detector's values, or with ``clear`` whether each is clear."""
        if clear:
            return self.clear_labels, self.clear_predicted
        return self.labels, self.predicted


def signs_of(words: npt.ArrayLike, labels: npt.ArrayLike, number: int) -> Stratum:
    """Return the stratum of signs: 1 male, -1 female, 0 not clear; labels are NaN where unknown."""
    word = inputs.in_range(f"words[{number}]", words, -1.0, 1.0)
    label = np.asarray(labels, dtype=np.float64)
    inputs.same_shape(**{f"words[{number}]": word, f"labels[{number}]": label})
    has_label = _checked_labels(label, number)
    label = np.nan_to_num(label)
    return Stratum(word, label, np.abs(word), np.abs(label), has_label)


def _checked_labels(label: inputs.Floats, number: int) -> inputs.Bools:
    """Return which images have a label; raise ValueError for too few."""
    has_label = ~np.isnan(label)
    if int(has_label.sum()) < LEAST_LABELS:
        raise ValueError(
            f"every prompt needs {LEAST_LABELS} labels, "
            f"got {int(has_label.sum())} in labels[{number}]"
        )
    return has_label


@dataclass(frozen=True, slots=True)
class Means:
    """Means of every stratum, corrected by people's labels."""

    means: inputs.Floats
    power: float
    """Weight of the predicted labels, from 0 to 1 (the power parameter of PPI++)."""


def estimates(strata: Sequence[Stratum], *, clear: bool) -> Means:
    """Return the strata's means by the detector, minus its mean error on the labelled images."""
    together, spread = 0.0, 0.0
    for stratum in strata:
        y, f = (part[stratum.has_label] for part in stratum.values(clear=clear))
        together += float(np.sum(y * (f - f.mean())))
        spread += float(np.sum((f - f.mean()) ** 2))
    power = min(1.0, max(0.0, together / spread)) if spread else 0.0
    means = []
    for stratum in strata:
        y, f = stratum.values(clear=clear)
        known, said = y[stratum.has_label], f[stratum.has_label]
        # Where people agree with the detector throughout, it is taken at its word.
        trust = 1.0 if np.array_equal(known, said) else power
        means.append(float(known.mean() + trust * (f.mean() - said.mean())))
    return Means(np.array(means), power)


def _variances_of(
    strata: Sequence[Stratum],
    of_sign: float,
    of_clear: float,
    scores: inputs.Floats,
    clear: inputs.Floats,
) -> inputs.Floats:
    """Return the variance of each score by linearisation; 0 where every image is labelled."""
    variances = []
    for k, stratum in enumerate(strata):
        (s, fs), (c, fc) = stratum.values(clear=False), stratum.values(clear=True)
        errors = (s - of_sign * fs) - scores[k] * (c - of_clear * fc)
        residual = errors[stratum.has_label] / clear[k]
        left = 1.0 / stratum.labelled - 1.0 / stratum.size
        variances.append(float(np.var(residual, ddof=1)) * max(0.0, left))
    return np.array(variances)


FEWEST_POOLED = 10
"""Fewest prompts, and fewest labels of each, whose noise of labels is pooled: of three prompts a
limit at the truth FAILed in 18 % of runs, and of thirty with five labels it PASSed in 30 %."""
WRONG_LABELS = 0.5
"""Labels more, in each prompt, that the detector gets wrong: where few all agree, one prompt that
it mostly gets wrong made a model FAIL a limit at the truth in 10 to 17 % of runs."""
WRONG = 2.0
"""Error of a sign that is wrong."""
NO_RANDOM_PART = 0.001
"""p-value below which images with a label are no random part of all."""


def random_part_p_value(strata: Sequence[Stratum]) -> float:
    """Return the exact p-value against "the images with a label are drawn at random, by prompt".

    By what the detector says of them: the number of men, and of images without a gender, is a sum
    of hypergeometric numbers. Two-sided, and for both together (Bonferroni).
    """
    p_values = []
    for sign in (1.0, 0.0):
        law, observed = np.ones(1), 0
        for stratum in strata:
            of_sign = stratum.predicted == sign
            n, drawn = stratum.labelled, int(np.sum(of_sign & stratum.has_label))
            chances = scipy.stats.hypergeom.pmf(
                np.arange(n + 1), stratum.size, int(of_sign.sum()), n
            )
            law, observed = np.convolve(law, chances), observed + drawn
        tails = float(law[: observed + 1].sum()), float(law[observed:].sum())
        p_values.append(2.0 * min(tails))
    return min(1.0, 2.0 * min(p_values))


@dataclass(frozen=True, slots=True)
class CorrectedScores:
    """The bias scores that people would give to all images of a run, estimated from few labels."""

    prompts: tuple[Interval, ...]
    """Prompt bias score per prompt, in the order given, with the interval of the labels alone."""
    male: tuple[float, ...]
    """Estimated number of images that people would label male, per prompt."""
    female: tuple[float, ...]
    """Estimated number of images that people would label female, per prompt."""
    effective_male: tuple[int, ...]
    """Images of each prompt that people labelled male: the evidence about one prompt, for any
    errors of the detector."""
    effective_female: tuple[int, ...]
    """Images of each prompt that people labelled female."""
    pooled_male: tuple[int, ...]
    """Male images of each prompt's effective counts (``effective_counts``), whose noise of labels
    is pooled over prompts: the evidence about ten prompts or more with ten labels each, else the
    labels alone."""
    pooled_female: tuple[int, ...]
    """Female images of the same counts."""
    magnitudes: tuple[float, ...]
    """Estimate of each prompt's |2p - 1|, without the upward bias of few images and of few labels;
    its mean is the model's estimate."""
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

    The labelled images are drawn at random from those of each prompt (Angelopoulos, Duchi and Zrnic
    2023). For each prompt, the mean sign s (+1 male, -1 female, 0 not clear) and the share of clear
    images c are the detector's means minus its mean error on the labelled images, as in PPI++ with
    one power parameter l for all prompts; the score is the ratio s/c. A prompt's interval is the
    exact one of people's labels alone, widened to hold the estimate. That of the model is for the
    score that people would give to these very images (finite population), so that labelled images
    add no uncertainty; it is approximate, and its low end is lowered by the upward bias that label
    noise gives to absolute scores. Inference on the model beyond these images uses the effective
    counts, never a sum of half-widths.

    .. math:: s = l mean(f) + mean_L(y - l f);  Var = S^2 (1/n - 1/N), S^2 of residuals

    Args:
        words: the predicted label of every image, per prompt: +1, -1, or 0 for undetected.
        labels: people's label of the same images: +1, -1, 0 not clear, or NaN without a label.
        level: confidence level in (0, 1).

    Returns:
        Scores per prompt and of the model.

    Raises:
        ValueError: a prompt has fewer than five labels, lengths differ, no image is clear, or the
            images with a label are no random part of all.

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
    if random_part_p_value(strata) < NO_RANDOM_PART:
        raise ValueError(
            "labels must be of a random part of the images, and the detector says something else "
            "of those with a label than of all"
        )
    sign = estimates(strata, clear=False)
    clear = estimates(strata, clear=True)
    floors = np.array([1.0 / stratum.size for stratum in strata])
    shares = np.maximum(clear.means, floors)
    scores = np.clip(sign.means / shares, -1.0, 1.0)
    variances = _variances_of(strata, sign.power, clear.power, scores, shares)
    z = float(scipy.stats.norm.isf((1.0 - level) / 2.0))
    model, half = float(np.mean(np.abs(scores))), z * math.sqrt(variances.sum()) / len(strata)
    sizes = np.array([float(stratum.size) for stratum in strata])
    images = np.clip(clear.means, floors, 1.0) * sizes
    male, female = images * (1.0 + scores) / 2.0, images * (1.0 - scores) / 2.0
    alone = [
        tuple(int(np.sum(stratum.labels[stratum.has_label] == sign)) for stratum in strata)
        for sign in (1.0, -1.0)
    ]
    pooled = alone
    if len(strata) >= FEWEST_POOLED <= min(stratum.labelled for stratum in strata):
        cautious = _cautious(strata, variances)
        pooled = [tuple(side.tolist()) for side in effective_counts(male, female, cautious)]
    folding = folding_bias(scores, variances)
    ends = max(0.0, model - half - float(np.mean(folding))), min(1.0, model + half)
    return CorrectedScores(
        prompts=tuple(
            _prompt_interval(score, men, women, level)
            for score, men, women in zip(scores.tolist(), *alone, strict=True)
        ),
        male=tuple(male.tolist()),
        female=tuple(female.tolist()),
        effective_male=alone[0],
        effective_female=alone[1],
        pooled_male=pooled[0],
        pooled_female=pooled[1],
        magnitudes=tuple((_magnitudes(images, scores) - folding).tolist()),
        model=Interval(model, *ends, level, "ppi++", len(strata)),
        detector=_plain(strata),
        labels=sum(stratum.labelled for stratum in strata),
        labels_to_halve=_to_halve(strata),
    )


def _cautious(strata: Sequence[Stratum], variances: inputs.Floats) -> inputs.Floats:
    """Return the variances with WRONG_LABELS more labels, which the detector got wrong."""
    labelled = np.array([stratum.labelled for stratum in strata], dtype=np.float64)
    sizes = np.array([stratum.size for stratum in strata], dtype=np.float64)
    more = WRONG_LABELS * WRONG**2 * np.maximum(0.0, 1.0 / labelled - 1.0 / sizes)
    return np.asarray((variances * (labelled - 1.0) + more) / labelled, dtype=np.float64)


def _magnitudes(images: inputs.Floats, scores: inputs.Floats) -> inputs.Floats:
    """Return ``midpoints`` at shares that need not be those of whole images, [n_prompts]."""
    values = []
    for n, score in zip(np.maximum(1, np.rint(images)).astype(int).tolist(), scores, strict=True):
        table = midpoints(n)
        values.append(np.interp((1.0 - abs(score)) * n / 2.0, np.arange(len(table)), table))
    return np.array(values)


def _prompt_interval(score: float, men: int, women: int, level: float) -> Interval:
    """Return the exact interval of people's labels alone, widened to hold the estimate."""
    if not men + women:
        return Interval(score, -1.0, 1.0, level, "no clear label", 0)
    exact = prompt_bias_interval(men, women, level)
    return containing(score, (exact.low, exact.high), level, exact.method, exact.n)


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
