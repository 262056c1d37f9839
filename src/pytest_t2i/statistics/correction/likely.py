"""Expected labels of people for each image, from a detector's log odds and the other images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs

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

    Where 19 of a prompt's 20 images are male, a single predicted "female" of an unreliable detector
    is likely wrong. Each prompt's share of men is estimated from its own images alone (EM, with the
    prior Beta(1/2, 1/2)), and combined with each image's odds by Bayes' rule.

    Args:
        log_odds: a detector's log odds of the label male, 0 where unknown, [n_images] per prompt.
        calibration: calibration of the log odds.

    >>> [signs] = likely_signs([np.array([1.7] * 9 + [-1.7])], Calibration())
    >>> bool(signs[0] > 0.9), bool(signs[-1] > 0.0)
    (True, True)
    """
    return [_of_prompt(np.asarray(odds, dtype=np.float64), calibration) for odds in log_odds]


def _of_prompt(log_odds: inputs.Floats, calibration: Calibration) -> inputs.Floats:
    read = calibration.shift + calibration.slope * log_odds
    odds = np.exp(np.clip(read, -LARGEST, LARGEST))
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

    It is sqrt(1 - x^2) for an expected sign x. An image without a predicted label is assumed clear
    with probability 1/2: sqrt((1 - x^2) / 2).

    Args:
        log_odds: as in ``likely_signs``, but NaN where the detector gave no label.

    >>> [of] = doubts([np.array([1.7, 1.7, 1.7, -1.7, np.nan])])
    >>> int(of.argmax())
    3
    """
    known = [np.nan_to_num(np.asarray(odds, dtype=np.float64)) for odds in log_odds]
    signs = likely_signs(known, Calibration())
    return [
        np.sqrt((1.0 - sign**2) * np.where(np.isnan(odds), 0.5, 1.0))
        for sign, odds in zip(signs, log_odds, strict=True)
    ]


def calibrated(
    log_odds: inputs.Floats, signs: inputs.Floats, weights: inputs.Floats
) -> Calibration:
    """Return the calibration of a detector's log odds that labelled images suggest.

    It is a weighted logistic regression of people's sign on the log odds. The overall share of male
    images is subtracted from the intercept, and a normal prior shrinks the slope towards 1.

    Args:
        log_odds: a detector's log odds of the labelled images, [n_labelled].
        signs: people's labels, +1 male or -1 female, [n_labelled].
        weights: number of images of the run that each labelled one represents, [n_labelled].
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
