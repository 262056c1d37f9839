"""The ends of Blaker's exact interval of a share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs

HALVINGS = 60
ROUNDING = 1e-12


@lru_cache(maxsize=8192)
def lowest_acceptable(k: int, n: int, level: float) -> float:
    """Return the smallest share at which k of n is acceptable (Blaker 2000; Klaschka 2010).

    Below k/n the tail P(K >= k) grows with p. For each j < k, the tail P(K <= j) counts from the
    share on at which it is no larger than P(K >= k). The sum of both tails lacks P(j < K < k),
    which rises and then falls with p: so the sum exceeds alpha at that share, or from its only
    crossing above that share on. The result is the least of these shares over all j.

    >>> round(lowest_acceptable(3, 10, 0.95), 4)
    0.0873
    """
    if k == 0:
        return 0.0
    alpha = 1.0 - level
    least, most = (float(scipy.special.betaincinv(k, n - k + 1, a)) for a in (alpha / 2.0, alpha))
    j = np.arange(_opposite(k, n, least), _opposite(k, n, most) + 1)
    start = _bisected(
        lambda p: _at_least(k, n, p) - _at_most(j, n, p),
        np.full(len(j), least),
        np.full(len(j), most),
    )

    def excess(p: inputs.Floats) -> inputs.Floats:
        return _at_least(k, n, p) + _at_most(j, n, p) - alpha

    # A share at which acceptability jumps belongs to the interval, whatever the rounding.
    return max(0.0, float(np.min(_bisected(excess, start, np.full(len(j), most)))) - ROUNDING)


def _opposite(k: int, n: int, p: float) -> int:
    """Return the largest j with P(K <= j) no larger than P(K >= k), or -1 where there is none."""
    tails = _at_most(np.arange(k), n, np.full(k, p))
    return int(np.searchsorted(tails, _at_least(k, n, np.array(p)), side="right")) - 1


def _at_least(k: int, n: int, p: inputs.Floats) -> inputs.Floats:
    """Return P(K >= k) for k > 0."""
    return np.asarray(scipy.special.betainc(k, n - k + 1, p), dtype=np.float64)


def _at_most(j: npt.NDArray[np.int64], n: int, p: inputs.Floats) -> inputs.Floats:
    """Return P(K <= j) for j < n; 0 for j = -1."""
    tail = scipy.special.betaincc(np.maximum(j, 0) + 1, n - np.maximum(j, 0), p)
    return np.asarray(np.where(j < 0, 0.0, tail), dtype=np.float64)


def _bisected(
    function: Callable[[inputs.Floats], inputs.Floats],
    low: inputs.Floats,
    high: inputs.Floats,
) -> inputs.Floats:
    """Return the point where each value turns positive.

    That point is ``low`` where the value is positive there already, as rounding may make it.
    """
    low, high = low.copy(), high.copy()
    high = np.where(function(low) > ROUNDING, low, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        above = function(middle) > 0.0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high
