"""How sure a simulated rate is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_t2i.statistics import share_interval


def share_of(happened: int, runs: int) -> str:
    """A share of runs with its 95 % interval: ``0.046 [0.029, 0.068]``."""
    return str(share_interval(happened, runs, 0.95))


def rate(happened: Sequence[bool | float]) -> str:
    """The same of a list with a value for each run."""
    return share_of(int(np.sum(happened)), len(happened))


def least(happened: Sequence[bool | float], level: float = 0.99) -> float:
    """What the true rate exceeds, at this one-sided level: a test fails where it is above 5 %."""
    return share_interval(int(np.sum(happened)), len(happened), 2.0 * level - 1.0).low
