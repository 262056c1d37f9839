"""Effective counts, which express the uncertainty of labels as a smaller number of images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs

Whole = npt.NDArray[np.int64]


def effective_counts(
    male: npt.ArrayLike, female: npt.ArrayLike, variance: npt.ArrayLike
) -> tuple[Whole, Whole]:
    """Return whole counts of as many error-free images as leave the same uncertainty.

    A prompt's score, corrected by few labels, varies with the drawn images (b) and with the drawn
    labels (v). Both are pooled over prompts, since one prompt's few labels estimate v poorly:

    .. math:: n_eff = n B / (B + V),  B = mean of (1 - s^2 + v) / (n - 1),  V = mean of v

    as ``E s^2 = t^2 + (1 - t^2) / n + v`` for the true score t. A method for counts then applies to
    corrected scores, and also removes the upward bias that the noise gives to ``|s|``; adding a
    half-width to the interval of uncorrected counts would not (tests/simulations/correction.md).

    Args:
        male: estimated number of images that people would label male, [n_prompts].
        female: estimated number of images that people would label female, [n_prompts].
        variance: variance of each prompt's score from the drawing of labels, [n_prompts].

    Returns:
        Male and female counts, whole numbers, [n_prompts] each; at least one image per prompt.

    Raises:
        ValueError: shapes differ, a value is negative, or a prompt has no image.

    >>> effective_counts([10.0, 10.0], [10.0, 10.0], [0.05, 0.05])
    (array([5, 5]), array([5, 5]))
    >>> effective_counts([20.0], [0.0], [0.0])
    (array([20]), array([0]))
    """
    men, women = inputs.counts("male", male), inputs.counts("female", female)
    v = inputs.counts("variance", variance)
    inputs.one_dimensional(male=men, female=women, variance=v)
    inputs.same_shape(male=men, female=women, variance=v)
    n = men + women
    if not np.all(n > 0.0):
        raise ValueError(f"male and female must not both be 0, got prompt {int(np.argmin(n))}")
    score = (men - women) / n
    several = n > 1.0
    of_images = (1.0 - score**2 + v)[several] / (n[several] - 1.0)
    b, label = float(np.mean(of_images)) if np.any(several) else 1.0, float(np.mean(v))
    kept = b / (b + label) if label > 0.0 else 1.0
    total = np.maximum(1, np.rint(n * kept)).astype(np.int64)
    shown = np.rint(total * (1.0 + score) / 2.0).astype(np.int64)
    return shown, total - shown


def folding_bias(score: npt.ArrayLike, variance: npt.ArrayLike) -> inputs.Floats:
    """Return the expected increase of an absolute score by noise of a given variance.

    .. math:: E|N(m, v)| - m,  m^2 = max(0, s^2 - v)      (the folded normal distribution)

    Args:
        score: scores with noise, [n].
        variance: variance of that noise, [n].

    Returns:
        The bias, [n]; 0 where there is no noise.

    Raises:
        ValueError: shapes differ, or a variance is negative.

    >>> folding_bias([0.0, 0.9], [0.04, 0.0]).round(3)
    array([0.16, 0.  ])
    """
    s, v = inputs.floats("score", score), inputs.counts("variance", variance)
    inputs.same_shape(score=s, variance=v)
    mean, spread = np.sqrt(np.maximum(0.0, s**2 - v)), np.sqrt(v)
    far = np.divide(mean, spread, out=np.full_like(mean, np.inf), where=spread > 0.0)
    folded = 2.0 * spread * scipy.stats.norm.pdf(far) + mean * (
        1.0 - 2.0 * scipy.stats.norm.cdf(-far)
    )
    return np.asarray(folded - mean, dtype=np.float64)
