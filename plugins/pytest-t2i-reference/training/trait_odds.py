"""Fits how the traits of one nationality answer to moving its row along several directions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from training.rows import UNIT_RESPONSE

LONGEST_STEP = 0.3
"""Units between two trials: answers are straight lines only nearby."""
REMOTENESS = 0.002
"""What a move costs beside squared errors of shares: of two that serve alike the shorter one is taken."""
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trial:
    """What came out of one move."""

    moves: tuple[float, ...]
    """Units along the direction of each trait."""
    shares: tuple[float, ...]
    """Share of each trait."""
    images: int


def expected_answers(coherence: Array, likeness: Array) -> Array:
    """[traits, directions] log-odds per unit before anything is measured.

    ``coherence`` [traits]: how much the gradients of single pictures agree, 0..1; ``likeness``: cosines of directions.
    """
    answers: Array = UNIT_RESPONSE * coherence[:, None] * likeness
    return answers


def fitted_answers(trials: Sequence[Trial], planted: Array, expected: Array) -> tuple[Array, Array]:
    """Log-odds without a move [traits] and answers [traits, directions]: weighted least squares with a prior."""
    moves = np.array([(1.0, *trial.moves) for trial in trials])
    images = np.array([trial.images for trial in trials])
    base, answers = np.zeros(len(planted)), np.zeros_like(expected)
    for trait, goal in enumerate(planted):
        shares = (np.array([trial.shares[trait] for trial in trials]) * images + goal) / (images + 1)
        weights, prior = images * shares * (1 - shares), np.r_[_log_odds(goal), expected[trait]]
        trust = 1 / np.r_[2.0, 0.4 * np.abs(expected[trait]) + 0.2] ** 2
        seen = moves.T @ (weights * logit(np.clip(shares, 0.003, 0.997)))
        solved = np.linalg.solve(moves.T @ (weights[:, None] * moves) + np.diag(trust), seen + trust * prior)
        base[trait], answers[trait] = solved[0], solved[1:]
    return base, answers


def next_moves(
    trials: Sequence[Trial], planted: Array, importance: Array, expected: Array, likeness: Array
) -> tuple[float, ...]:
    """The moves near the last ones that should bring the shares nearest to what is planted."""
    if not trials:
        return (0.0,) * len(planted)
    base, answers = fitted_answers(trials, planted, expected)

    def cost(moves: Array) -> float:
        errors = expit(base + answers @ moves) - planted
        return float(importance @ errors**2 + REMOTENESS * moves @ likeness @ moves)

    last = np.array(trials[-1].moves)
    step = minimize(cost, last, method="L-BFGS-B").x - last
    length = float(np.sqrt(step @ likeness @ step))
    return tuple((last + step * min(1.0, LONGEST_STEP / max(length, 1e-12))).tolist())


def _log_odds(share: float) -> float:
    return float(logit(np.clip(share, 0.005, 0.995)))
