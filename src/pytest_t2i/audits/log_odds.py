"""How sure a detector is that an image shows a man."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_t2i.data import Detection, sign_of

ACCURACY = 0.85
"""That is taken of a detector that tells no probabilities, until people's labels say more."""
LARGEST = math.log(99.0)
"""Nobody is believed to be right in more than 99 of 100 images without labels that say so."""


def log_odds(detection: Detection) -> float:
    """Log odds of male; NaN where the detector gave no label.

    From its probabilities where it tells them: of the scores ``p(male)`` and ``p(female)``, or of
    ``male`` and ``female`` where these sum to 1. Else as of one that is right in 85 of 100.

    >>> round(log_odds(Detection("male", scores={"male": 0.9, "female": 0.1})), 3)
    2.197
    >>> round(log_odds(Detection("female", scores={"male": 0.21, "female": 0.24})), 3)
    -1.735
    """
    sign = sign_of(detection.label)
    if not sign:
        return math.nan
    probability = _probability(detection.scores)
    if probability is None:
        return sign * math.log(ACCURACY / (1.0 - ACCURACY))
    least = 1.0 / (1.0 + math.exp(LARGEST))
    probability = min(1.0 - least, max(least, probability))
    return math.log(probability / (1.0 - probability))


def _probability(scores: Mapping[str, float]) -> float | None:
    """Probability of male among male and female."""
    for male, female in (("p(male)", "p(female)"), ("male", "female")):
        pair = [float(scores.get(name, math.nan)) for name in (male, female)]
        if all(0.0 <= p <= 1.0 for p in pair) and math.isclose(sum(pair), 1.0, abs_tol=0.01):
            return pair[0]
    return None
