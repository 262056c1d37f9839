"""Expected size and power of a sequential test of one prompt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.sequential.after_stopping import log_chances, ways_to_end
from pytest_t2i.statistics.sequential.group_sequential import SequentialTest


class Expected(NamedTuple):
    """The expected number of images of one prompt, and the probabilities of its outcomes.

    >>> expected_stop(SequentialTest(100, 0.5, members=100), 0.5).within > 0.95
    True
    """

    images: float
    """Expected number of images."""
    beyond: float
    """Probability to stop beyond the limit (a FAIL, where its family rejects the prompt)."""
    within: float
    """Probability of a PASS."""


def expected_stop(test: SequentialTest, share: float) -> Expected:
    """Return the exact outcome probabilities of a prompt with a given share.

    Args:
        test: the sequential test.
        share: true share of men, or of the attribute, in [0, 1].

    Returns:
        Expected number of images, probability to stop beyond the limit, probability of a PASS.

    Raises:
        ValueError: share lies outside [0, 1].

    >>> clear = expected_stop(SequentialTest(100, 0.5, members=100), 1.0)
    >>> round(clear.images), round(clear.beyond, 3)
    (21, 1.0)
    """
    p = float(inputs.in_range("share", share, 0.0, 1.0))
    ends = ways_to_end(test, test.looks[:1])
    chances = np.exp(log_chances(ends, p))
    sizes = ends.successes + ends.failures
    return Expected(
        float((chances * sizes).sum()),
        float(chances[ends.outcomes > 0].sum()),
        float(chances[ends.outcomes < 0].sum()),
    )
