"""Shares among people where the picture, and not the person, is the independent unit."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy
from pytest_t2i import Interval
from pytest_t2i.metrics import inputs

Alternative = Literal["greater", "less"]
METHOD = "weighted pictures"
REACH, DECAY, STEP = 2.0, 36.0, 0.06
"""Range and step of the integral along the contour, which falls as fast as there are weights: more
steps change the 12th digit."""
HALVINGS = 50
"""Of the interval that holds the saddle point; the integral is the same near it."""

Row = tuple[tuple[float, ...], tuple[float, ...]]


def cluster_share_interval(
    hits: npt.ArrayLike, sizes: npt.ArrayLike, *, level: float, most: float, low: float = 0.0
) -> Interval:
    r"""Return the share of hits among the members of clusters; the cluster is the unit.

    .. math:: \theta = \sum_i h_i / \sum_i s_i

    Each cluster, such as a picture, weighs as many members (people) as it has. The ends are those
    of the ratio with random weights of the clusters (independent exponentials, which is the
    Bayesian bootstrap of Rubin 1981) and one more cluster of ``most`` members, all of which are
    misses at the lower end, and hits at the upper one. That is Gaffke's bound of a bounded mean
    (2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable"), of h - t s at each share t. For clusters of one member it is the exact
    interval of Clopper and Pearson. In general its level is a conjecture that no simulation has
    refuted (Learned-Miller and Thomas 2020; tests/simulations/crowds.md). It holds for any
    dependence within a cluster, and needs no two different clusters to have a width.

    ``hits`` and ``sizes`` are sums over the members of each cluster; ``most`` is the largest
    possible size, chosen before the data are seen, and ``low`` the smallest value of a member: 0
    for shares, -1 for the share of one group minus another. Clusters without members are left out.

    >>> print(cluster_share_interval([2, 0, 3, 1], [4, 2, 3, 3], level=0.95, most=10))
    0.500 [0.062, 0.936]
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got level={level!r}")
    row = _row(hits, sizes, most, low)
    tail = (1.0 - level) / 2.0
    ends = []
    for alternative, certain in (("greater", low), ("less", 1.0)):
        if all(h == certain * s for h, s in zip(*row, strict=True)):
            ends.append(certain)
            continue

        def excess(share: float, alternative: Alternative = alternative) -> float:  # type: ignore[assignment]
            return _p_value(row, share, alternative, most, low) - tail

        ends.append(float(scipy.optimize.brentq(excess, low, 1.0, xtol=1e-11)))
    estimate = math.fsum(row[0]) / math.fsum(row[1])
    low_end, high_end = min(ends[0], estimate), max(ends[1], estimate)
    return Interval(estimate, low_end, high_end, level, METHOD, len(row[0]))


def cluster_share_p_value(
    hits: npt.ArrayLike, sizes: npt.ArrayLike, bound: float, *, most: float, low: float = 0.0,
    alternative: Alternative = "greater",
) -> float:  # fmt: skip
    """Return the one-sided p-value of the share of ``cluster_share_interval`` against a bound.

    The ends of the interval are where it is (1 - level) / 2; the arguments are the interval's.

    >>> round(cluster_share_p_value([1] * 9 + [0], [1] * 10, 0.5, most=1), 4)  # P(K >= 9), n = 10
    0.0107
    """
    if alternative not in get_args(Alternative):
        raise ValueError(f"alternative must be greater or less, got {alternative!r}")
    limit = float(inputs.in_range("bound", bound, low, 1.0))
    return _p_value(_row(hits, sizes, most, low), limit, alternative, most, low)


def _row(hits: npt.ArrayLike, sizes: npt.ArrayLike, most: float, low: float) -> Row:
    values, members = inputs.floats("hits", hits), inputs.floats("sizes", sizes)
    inputs.same_shape(hits=values, sizes=members)
    inputs.in_range("sizes", members, 0.0, most)
    wrong = (values > members + 1e-9) | (values < low * members - 1e-9)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"hits must lie between {low:g} and 1 times sizes, got hits={values[place]:g} for "
            f"sizes={members[place]:g}"
        )
    has_members = members > 0.0
    if not has_members.any():
        raise ValueError("sizes must hold at least one cluster with a member, got none")
    return tuple(values[has_members].tolist()), tuple(members[has_members].tolist())


# Prompts of a run share few different rows, and each is tested at the same bounds.
@lru_cache(maxsize=4096)
def _p_value(row: Row, share: float, alternative: Alternative, most: float, low: float) -> float:
    hits, sizes = map(np.array, row)
    steps, certain = hits - share * sizes, low if alternative == "greater" else 1.0
    steps = np.append(steps, most * (certain - share))
    return positive_chance(-steps if alternative == "greater" else steps)


def positive_chance(weights: inputs.Floats) -> float:
    r"""Return the probability that a weighted sum of independent exponentials is at least 0.

    .. math:: P(S > 0) = \frac{1}{2 \pi i} \int \frac{ds}{s} \prod_j (1 - s w_j)^{-1}

    along a vertical line through the saddle point of the integrand (Lugannani and Rice 1980), by
    the trapezoidal rule. A sum whose weights are all 0 is 0, for which the chance is 1.
    """
    values, times = np.unique(weights, return_counts=True)
    if values[0] >= 0.0:
        return 1.0
    if values[-1] <= 0.0:
        return 0.0
    if float(values @ times) > 0.0:
        return 1.0 - _upper_tail(-values[::-1], times[::-1])
    return _upper_tail(values, times)


def _upper_tail(values: inputs.Floats, times: npt.NDArray[np.int64]) -> float:
    """Return P(S > 0) of a sum whose mean is at most 0."""
    largest = float(values[-1])
    low, high = 0.0, 1.0 / largest
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        is_beyond = np.sum(times * values / (1.0 - middle * values)) > 1.0 / middle
        low, high = (low, middle) if is_beyond else (middle, high)
    saddle = (low + high) / 2.0
    curve = float(np.sum(times * (values / (1.0 - saddle * values)) ** 2)) + 1.0 / saddle**2
    several = float(np.sum(times[values != 0.0]))
    steps = np.arange(0.0, math.asinh(math.sqrt(several)) + REACH + DECAY / several, STEP)
    width = 1.0 / math.sqrt(curve)
    line = saddle + 1j * width * np.sinh(steps)
    logs = -np.log(1.0 - np.multiply.outer(line, values)) @ times - np.log(line)
    heights = np.exp(logs).real * np.cosh(steps)
    heights[0] /= 2.0
    total = width * STEP * float(np.sum(heights)) / math.pi
    return min(max(total, 0.0), 1.0)
