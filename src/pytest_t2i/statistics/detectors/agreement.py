"""Intervals of agreement between raters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.data import Interval
from pytest_t2i.metrics import cohen_kappa, fleiss_kappa, inputs
from pytest_t2i.statistics.shares.intervals import wilson
from pytest_t2i.statistics.shares.resampling import check_resampling, expanded_tail, percentiles


def kappa_interval(a: npt.ArrayLike, b: npt.ArrayLike, level: float) -> Interval:
    """Return Cohen's kappa with an interval.

    The interval is the Wilson interval of the observed agreement p_o, transformed to kappa with the
    observed chance agreement p_e taken as known (Cohen 1960, section "sampling"). So full agreement
    on few items has an interval of positive width.

    .. math:: (p_o - p_e) / (1 - p_e)

    Args:
        a: labels by the first rater, [n_items].
        b: labels by the second rater, [n_items].
        level: confidence level in (0, 1).

    Returns:
        Interval in [-1, 1]; n is the number of items that both labelled.

    Raises:
        ValueError: as in ``metrics.cohen_kappa``, or the level lies outside (0, 1).

    >>> print(kappa_interval(["m", "f"] * 10, ["m", "f"] * 10, 0.95))
    1.000 [0.678, 1.000]
    """
    kappa = cohen_kappa(a, b)
    first, second = inputs.labels("a", a), inputs.labels("b", b)
    agreement = wilson(int(np.sum(first == second)), len(first), level)
    if kappa == 1.0:
        counts = np.unique(first.astype(str), return_counts=True)[1] / len(first)
        by_chance = float(np.sum(counts**2))
    else:
        by_chance = (agreement.estimate - kappa) / (1.0 - kappa)
    low, high = ((x - by_chance) / (1.0 - by_chance) for x in (agreement.low, agreement.high))
    return Interval(kappa, max(-1.0, low), min(1.0, high), level, "wilson", len(first))


def fleiss_interval(
    ratings: npt.ArrayLike, *, level: float, seed: int, resamples: int = 2000
) -> Interval:
    """Return Fleiss' kappa with an interval by seeded bootstrap over items.

    Resamples with a single label are not used: kappa is 0/0 there. The low end is at most the one
    that follows from the Wilson interval of the share of items on which all agree, as full
    agreement on few items is no certainty.

    Args:
        ratings: number of raters that gave item i label j, [n_items, n_labels].
        level: confidence level in (0, 1).
        seed: seed of the resampling.
        resamples: number of bootstrap resamples.

    Returns:
        Interval in [-1, 1]; n is the number of items.

    Raises:
        ValueError: as in ``metrics.fleiss_kappa``, fewer than two items, or an option out of range.

    >>> fleiss_interval([[3, 0], [0, 3], [2, 1], [3, 0]], level=0.95, seed=0).n
    4
    """
    check_resampling(level, resamples)
    estimate = fleiss_kappa(ratings)
    counts = inputs.whole_counts("ratings", ratings).astype(np.float64)
    items = len(counts)
    if items < 2:  # noqa: PLR2004 - one item shows no spread
        raise ValueError(f"ratings must hold at least two items, got {items}")
    r = float(counts.sum()) / items
    drawn = np.random.default_rng(seed).multinomial(items, np.full(items, 1.0 / items), resamples)
    by_chance = np.sum((drawn @ counts / (items * r)) ** 2, axis=1)
    of_item = (np.sum(counts**2, axis=1) - r) / (r * (r - 1.0))
    observed = drawn @ of_item / items
    usable = by_chance < 1.0 - 1e-12
    kappas = (observed[usable] - by_chance[usable]) / (1.0 - by_chance[usable])
    low, high = percentiles(kappas, expanded_tail(items, level))
    low = min(low, _kappa_if_fewer_agree(counts, of_item, level))
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "item-bootstrap", items
    )


def _kappa_if_fewer_agree(counts: inputs.Floats, of_item: inputs.Floats, level: float) -> float:
    r, mixed = float(counts.sum()) / len(counts), of_item[of_item < 1.0]
    share = wilson(len(of_item) - len(mixed), len(of_item), level).low
    # Where no item is mixed, an item without full agreement is taken to have one dissenter of r.
    agreement = share + (1.0 - share) * (float(np.mean(mixed)) if len(mixed) else (r - 2.0) / r)
    by_chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    return (agreement - by_chance) / (1.0 - by_chance)
