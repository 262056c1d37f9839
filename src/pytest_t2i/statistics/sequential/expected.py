"""What a sequential test will take, and how often it will decide, before an image is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.sequential.after_stopping import log_chances, ways_to_end
from pytest_t2i.statistics.sequential.group_sequential import SequentialTest


class Expected(NamedTuple):
    """Expected numbers of one prompt.

    >>> expected_stop(SequentialTest(100, 0.5, members=100), 0.5).within > 0.95
    True
    """

    images: float
    """On average."""
    beyond: float
    """Chance to stop beyond the limit (a FAIL, where its family rejects it)."""
    within: float
    """Chance to PASS."""


def expected_stop(test: SequentialTest, share: float) -> Expected:
    """How a prompt will stop whose share is known: exact, over all ways in which it can.

    Args:
        test: how it is tested.
        share: true share, of men or of what is looked for, in [0, 1].

    Returns:
        Mean number of images, chance to stop beyond the limit, chance to PASS.

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
