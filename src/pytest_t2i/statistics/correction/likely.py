"""What people would likely say of each image: a detector's word, and the other images' words."""

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
"""Largest log odds: no probability is 0 or 1."""
SLOPES = 0.7
"""How far the slope is taken to lie from 1 before labels are seen, a standard deviation."""


class Calibration(NamedTuple):
    """How a detector's log odds are read: ``shift + slope * log odds``."""

    shift: float = 0.0
    slope: float = 1.0


def likely_signs(
    log_odds: Sequence[inputs.Floats], calibration: Calibration
) -> list[inputs.Floats]:
    """Expected sign of each clear image, from -1 (female) to 1 (male), per prompt.

    Where 19 of a prompt's 20 images are male, a single "female" of a detector that errs often is
    likely wrong. Each prompt's share of men is estimated from its own images alone (EM, with the
    prior Beta(1/2, 1/2)), and joined with each image's odds.

    Args:
        log_odds: log odds that people would say male, as a detector has them, 0 where it does not
            know, [n_images] per prompt.
        calibration: how they are read.

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
    """How little is known of what people would say, a standard deviation, per prompt.

    sqrt(1 - x^2) for an expected sign x; of an image without a label, which as often is not clear,
    sqrt((1 - x^2) / 2).

    Args:
        log_odds: as ``likely_signs`` takes them, NaN where the detector gave no label.

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
    """How labelled images say that a detector's log odds are to be read.

    Logistic regression of people's sign on the log odds, each image by its weight; what share
    of all images are male is taken off its intercept, and the slope is drawn towards 1.

    Args:
        log_odds: a detector's, of labelled images, [n_labelled].
        signs: people's, +1 or -1, [n_labelled].
        weights: how many images of the run each stands for, [n_labelled].
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
