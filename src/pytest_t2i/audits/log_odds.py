"""Log odds of a detector that an image shows a man."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_t2i.data import Detection, sign_of

ACCURACY = 0.85
"""Accuracy assumed of a detector that gives no probabilities, as long as people's labels are
missing."""
LARGEST = math.log(99.0)
"""Largest log odds: without labels no detector is assumed to be right in more than 99 of 100
images."""


def log_odds(detection: Detection) -> float:
    """Return the log odds of male; NaN where the detector gave no label.

    They come from the scores ``p(male)`` and ``p(female)``, or ``male`` and ``female``, where these
    sum to 1. Else the detector is taken to be right in 85 of 100 images.

    >>> round(log_odds(Detection("male", scores={"male": 0.9, "female": 0.1})), 3)
    2.197
    >>> round(log_odds(Detection("female", scores={"male": 0.21, "female": 0.24})), 3)
    -1.735
    """
    sign = sign_of(detection.label)
    if not sign:
        return math.nan
    probability = probability_of_male(detection.scores)
    if probability is None:
        return sign * math.log(ACCURACY / (1.0 - ACCURACY))
    least = 1.0 / (1.0 + math.exp(LARGEST))
    probability = min(1.0 - least, max(least, probability))
    return math.log(probability / (1.0 - probability))


def probability_of_male(scores: Mapping[str, float]) -> float | None:
    """Return the probability of male among male and female; None without such scores.

    Of a detector that counts people the scores are numbers of people, no probabilities.

    >>> probability_of_male({"male": 0.9, "female": 0.1})
    0.9
    >>> probability_of_male({"male": 1.0, "female": 0.0, "people": 1.0})
    """
    if "people" in scores:
        return None
    for male, female in (("p(male)", "p(female)"), ("male", "female")):
        pair = [float(scores.get(name, math.nan)) for name in (male, female)]
        if all(0.0 <= p <= 1.0 for p in pair) and math.isclose(sum(pair), 1.0, abs_tol=0.01):
            return pair[0]
    return None
