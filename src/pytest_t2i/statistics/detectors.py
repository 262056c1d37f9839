"""Intervals of detector scores against labels, and of agreement between people."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import cohen_kappa, fleiss_kappa, inputs
from pytest_t2i.statistics.gaps import difference_of_exclusive
from pytest_t2i.statistics.inversion import check_resampling, expanded_tail, percentiles
from pytest_t2i.statistics.shares import check_level, containing, share_interval


def kappa_interval(a: npt.ArrayLike, b: npt.ArrayLike, level: float) -> Interval:
    """Return Cohen's kappa with an interval.

    The exact interval of the observed agreement, with the chance agreement taken as known (Cohen
    1960).
    """
    kappa = cohen_kappa(a, b)
    first, second = inputs.labels("a", a), inputs.labels("b", b)
    agreement = share_interval(int(np.sum(first == second)), len(first), level)
    if kappa == 1.0:
        counts = np.unique(first.astype(str), return_counts=True)[1] / len(first)
        by_chance = float(np.sum(counts**2))
    else:
        by_chance = (agreement.estimate - kappa) / (1.0 - kappa)
    low, high = ((x - by_chance) / (1.0 - by_chance) for x in (agreement.low, agreement.high))
    return Interval(kappa, max(-1.0, low), min(1.0, high), level, agreement.method, len(first))


def fleiss_interval(
    ratings: npt.ArrayLike, *, level: float, seed: int, resamples: int = 2000
) -> Interval:
    """Return Fleiss' kappa with an interval by seeded bootstrap over items.

    The low end is at most that of the exact interval of the share of items on which all agree.
    """
    check_resampling(level, resamples)
    estimate = fleiss_kappa(ratings)
    counts = inputs.whole_counts("ratings", ratings).astype(np.float64)
    items = len(counts)
    if items < 2:  # noqa: PLR2004 - one item shows no spread
        raise ValueError(f"ratings must hold at least two items, got {items}")
    r = float(counts.sum()) / items
    weights = np.random.default_rng(seed).multinomial(items, np.full(items, 1.0 / items), resamples)
    by_chance = np.sum((weights @ counts / (items * r)) ** 2, axis=1)
    of_item = (np.sum(counts**2, axis=1) - r) / (r * (r - 1.0))
    observed = weights @ of_item / items
    usable = by_chance < 1.0 - 1e-12
    kappas = (observed[usable] - by_chance[usable]) / (1.0 - by_chance[usable])
    low, high = percentiles(kappas, expanded_tail(items, level))
    low = min(low, _kappa_if_fewer_agree(counts, of_item, level))
    return containing(estimate, (low, high), level, "item-bootstrap", items)


def _kappa_if_fewer_agree(counts: inputs.Floats, of_item: inputs.Floats, level: float) -> float:
    r, mixed = float(counts.sum()) / len(counts), of_item[of_item < 1.0]
    share = share_interval(len(of_item) - len(mixed), len(of_item), level).low
    # Where no item is mixed, an item without full agreement is taken to have one dissenter of r.
    agreement = share + (1.0 - share) * (float(np.mean(mixed)) if len(mixed) else (r - 2.0) / r)
    by_chance = float(np.sum((counts.sum(axis=0) / counts.sum()) ** 2))
    return (agreement - by_chance) / (1.0 - by_chance)


def f1_interval(hits: int, false_alarms: int, misses: int, level: float) -> Interval:
    """Return F1 with an interval.

    .. math:: F1 = 2J / (1 + J),  J = TP / (TP + FP + FN)      (Lyu eq. 4), J by its exact interval
    """
    union = int(hits) + int(false_alarms) + int(misses)
    share = share_interval(hits, union, level)
    f1, low, high = (2.0 * x / (1.0 + x) for x in (share.estimate, share.low, share.high))
    return Interval(f1, low, high, level, share.method, union)


FEWEST_PROMPTS = 5
"""Fewest prompts whose spread over prompts is judged: with two, ends missed in 22 % of runs."""


def deviation_interval(
    detected_male: npt.ArrayLike,
    detected_female: npt.ArrayLike,
    actual_male: npt.ArrayLike,
    actual_female: npt.ArrayLike,
    *,
    level: float,
) -> Interval:
    """Return the percent deviation of a detector's model bias score, by Fieller's interval.

    .. math:: 100 (MBS_detected - MBS_actual) / MBS_actual      (Lyu Table 1)

    The ratio of two means over prompts (Fieller 1954), with Student's quantile; prompts vary. It
    ends at -100 and where the detected score would be 1.
    """
    check_level(level)
    detected, has_detection = _gaps(detected_male=detected_male, detected_female=detected_female)
    actual, clear = _gaps(actual_male=actual_male, actual_female=actual_female)
    inputs.same_shape(detected_male=detected, actual_male=actual)
    prompts = len(actual)
    if prompts < FEWEST_PROMPTS:
        raise ValueError(f"there must be at least {FEWEST_PROMPTS} prompts, got {prompts}")
    if not has_detection.any() or not float(actual.sum()):
        raise ValueError(
            "detected and actual counts must each hold a clear image, and the actual model bias "
            "score must be above 0: it is the divisor of the deviation"
        )
    # Means over the prompts that have an image on each side.
    above = detected * prompts / has_detection.sum()
    below = actual * prompts / clear.sum()
    y, x = float(above.mean()), float(below.mean())
    ((yy, xy), (_, xx)) = np.cov(above, below) / prompts
    squared = float(scipy.stats.t.isf((1.0 - level) / 2.0, prompts - 1)) ** 2
    low, high = 0.0, 1.0 / x
    divisor = x * x - squared * xx
    if divisor > 0.0:
        middle = (y * x - squared * xy) / divisor
        half = math.sqrt(max(0.0, middle**2 - (y * y - squared * yy) / divisor))
        low, high = max(low, middle - half), min(high, middle + half)
    ends = 100.0 * (low - 1.0), 100.0 * (high - 1.0)
    return containing(100.0 * (y / x - 1.0), ends, level, "fieller", prompts)


def paired_share_change(lost: int, gained: int, n: int, level: float) -> Interval:
    """Return the change of a share on the same images, by MOVER of the exact intervals."""
    check_level(level)
    counts = {"lost": lost, "gained": gained, "n": n}
    b, c, size = (int(inputs.whole_counts(name, value)) for name, value in counts.items())
    if size == 0:
        raise ValueError("n must be at least 1, got n=0: no image is no evidence")
    if b + c > size:
        raise ValueError(f"lost and gained must not exceed n, got lost={b}, gained={c}, n={size}")
    worse, better = (share_interval(k, size, level) for k in (b, c))
    return difference_of_exclusive(better, worse)


def _gaps(**counts: npt.ArrayLike) -> tuple[inputs.Floats, inputs.Bools]:
    """Return |m - f| / (m + f) per prompt (0 without a clear image), and whether there is one."""
    men, women = inputs.count_vectors(**counts)
    clear = men + women
    gaps = np.abs(men - women) / np.maximum(clear, 1)
    return np.asarray(gaps, dtype=np.float64), np.asarray(clear > 0, dtype=np.bool_)
