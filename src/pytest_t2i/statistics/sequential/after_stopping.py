"""Intervals of a share after a sequential test, whose number of images depends on the data."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.data import Interval, Outcome
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.sequential.group_sequential import SequentialTest
from pytest_t2i.statistics.shares.intervals import check_level, check_share

METHOD = "exact after stopping"


class Ends(NamedTuple):
    """All outcomes in which a test can end."""

    successes: inputs.Floats
    failures: inputs.Floats
    log_ways: inputs.Floats
    """Logarithm of the number of sequences of images with that outcome."""
    outcomes: inputs.Floats
    """1 beyond the limit, -1 within, 0 for neither."""


def stopped_share_interval(
    test: SequentialTest, looks: tuple[int, ...], successes: int, level: float
) -> Interval:
    """Return the exact interval of a share after a test has stopped at the last of these looks.

    .. math:: {p : P_p(estimate >= k/n) > a/2 and P_p(estimate <= k/n) > a/2}

    over all outcomes of the test, ordered by their estimates (sample mean ordering, Emerson and
    Fleming 1990), with a = 1 - level. The probability of each outcome is exact: the number of
    sequences that lead to it times p^k (1 - p)^(n - k).

    Args:
        test: the sequential test, whose planned looks follow these looks.
        looks: number of images at all looks so far, increasing.
        successes: number of images at the last look that show the trait (are male).
        level: confidence level in (0, 1).

    Returns:
        Interval in [0, 1]; low is exactly 0 at 0/n, high exactly 1 at n/n.

    Raises:
        ValueError: successes exceed the images, or level lies outside (0, 1).

    >>> test = SequentialTest(100, 0.5, members=100)
    >>> print(stopped_share_interval(test, (16, 21), 21, 0.95))
    1.000 [0.839, 1.000]
    """
    check_level(level)
    k, n = check_share(successes, looks[-1], level)
    return _interval(test, looks, k, n, level)


@lru_cache(maxsize=8192)
def _interval(
    test: SequentialTest, looks: tuple[int, ...], k: int, n: int, level: float
) -> Interval:
    ends = ways_to_end(test, looks)
    estimate = k / n
    share = ends.successes / (ends.successes + ends.failures)
    tail = (1.0 - level) / 2.0

    def beyond(p: float, side: inputs.Bools) -> float:
        return float(np.exp(log_chances(ends, p)[side]).sum()) - tail

    above, below = share >= estimate - 1e-12, share <= estimate + 1e-12
    low = 0.0 if k == 0 else float(scipy.optimize.brentq(beyond, 0.0, estimate, args=(above,)))
    high = 1.0 if k == n else float(scipy.optimize.brentq(beyond, estimate, 1.0, args=(below,)))
    return Interval(estimate, low, high, level, METHOD, n)


def log_chances(ends: Ends, p: float) -> inputs.Floats:
    """Return the logarithm of the probability of each outcome where the share is p."""
    return np.asarray(
        ends.log_ways
        + scipy.special.xlogy(ends.successes, p)
        + scipy.special.xlog1py(ends.failures, -p)
    )


@lru_cache(maxsize=1024)
def ways_to_end(test: SequentialTest, looks: tuple[int, ...]) -> Ends:
    """Return all outcomes of a test at the looks so far and at the planned later looks."""
    looks = (*looks, *(n for n in test.looks if n > looks[-1]))
    # Share of the 2^n sequences of n images that continue the test and have k successes so far.
    open_, made = np.ones(1), 0
    found: list[tuple[float, float, float, float]] = []
    for place, n in enumerate(looks):
        for _ in range(n - made):
            open_ = (np.append(open_, 0.0) + np.append(0.0, open_)) / 2.0
        made = n
        for k in np.flatnonzero(open_).tolist():
            outcome = _end(test, looks[: place + 1], k)
            if outcome is not None:
                found.append((k, n - k, float(np.log(open_[k])) + n * math.log(2.0), outcome))
                open_[k] = 0.0
    return Ends(*np.array(found, dtype=np.float64).T)


SIDES = {Outcome.FAIL: 1.0, Outcome.PASS: -1.0}


def _end(test: SequentialTest, looks: tuple[int, ...], k: int) -> float | None:
    """Return 1 beyond the limit, -1 within, 0 for neither; None where the test continues."""
    n = looks[-1]
    lean = abs(2 * k - n) if test.folded else k
    outcome = test.outcome(looks, lean)
    if outcome is not Outcome.INCONCLUSIVE:
        return SIDES[outcome]
    return 0.0 if n >= test.most or test.is_hopeless(looks, lean) else None
