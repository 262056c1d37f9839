"""The probability that a detector gives of male."""

from __future__ import annotations

import math
from collections.abc import Mapping


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
