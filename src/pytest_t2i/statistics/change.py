"""Changes of a model bias score against a baseline on the same prompts."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.bounding import Side
from pytest_t2i.statistics.families import GRID, spread_given_counts
from pytest_t2i.statistics.gaps import excess_p_value, interval_difference
from pytest_t2i.statistics.model import FixedWords, midpoints, summed
from pytest_t2i.statistics.shares import (
    binomial_tail,
    check_level,
    containing,
    exact_ends,
    male_share,
    prompt_bias_interval,
)
from pytest_t2i.statistics.worst_case import budget_not_rejected, is_skewed

Whole = npt.NDArray[np.int64]
BIAS: inputs.Floats = np.linspace(0.0, 1.0, 101)
"""Values of |2p - 1| over which bias and noise are balanced, with equal weight."""


@lru_cache(maxsize=1024)
def score_table(n: int, prompts: int) -> inputs.Floats:
    """Return the scores of 0 to n men among n images that suit the mean over so many prompts."""
    chance = _chances(n)
    weight = 1.0 / len(BIAS)
    squares = weight * (1.0 - 1.0 / prompts) * chance.T @ chance
    squares[np.diag_indices(n + 1)] += weight * chance.sum(axis=0) / prompts
    table = np.linalg.solve(squares, weight * chance.T @ BIAS)
    return _frozen((table + table[::-1]) / 2.0)


@lru_cache(maxsize=1024)
def spread_table(n: int, fewer: int, prompts: int) -> inputs.Floats:
    """Return ``score_table`` of fewer images as scores of 0 to n men, unbiased at every p."""
    return _spread_out(score_table(fewer, prompts), n)


@lru_cache(maxsize=1024)
def _spread_midpoints(n: int, fewer: int) -> inputs.Floats:
    """Return ``midpoints`` of fewer images as scores of 0 to n men, unbiased at every p."""
    men = np.arange(fewer + 1)
    return _spread_out(midpoints(fewer)[np.minimum(men, fewer - men)], n)


def _spread_out(table: inputs.Floats, n: int) -> inputs.Floats:
    """Return scores of 0 to n men with the expectation of a table of fewer images, at every p.

    Each is the mean of the smaller table over all subsets of the n images (a U-statistic).
    """
    fewer = len(table) - 1
    if n == fewer:
        return table
    men = np.arange(n + 1)[:, None]
    return _frozen(scipy.stats.hypergeom.pmf(np.arange(fewer + 1), n, men, fewer) @ table)


@lru_cache(maxsize=256)
def table_bias(n: int, prompts: int) -> inputs.Floats:
    """Return the expectation of ``score_table`` minus |2p - 1|, at each of BIAS."""
    return _frozen(_chances(n) @ score_table(n, prompts) - BIAS)


def _chances(n: int) -> inputs.Floats:
    """Return the chance of each count at each of BIAS, over both genders, [n_bias, n + 1]."""
    one_way = scipy.stats.binom.pmf(np.arange(n + 1), n, male_share(BIAS)[:, None])
    return np.asarray((one_way + np.flip(one_way, axis=1)) / 2.0, dtype=np.float64)


def _frozen(table: inputs.Floats) -> inputs.Floats:
    table = np.asarray(table, dtype=np.float64)
    table.flags.writeable = False
    return table


FEW_PROMPTS = 10
"""Number of prompts below which the mean of tables is not balanced any further."""
SHOW_CHANGES = 30
"""Number of prompts below which counts do not show whether prompts changed: then a change is always
bounded. Where it was not, a margin of 0 failed in up to 25 % of runs without a change of the score,
and a margin at the truth passed in up to 36 % of nine prompts, and in up to 9 % of twelve
(tests/simulations/few_prompts.md)."""
FEW_IMAGES = 10
"""Number of images of a prompt below which the same holds: with five a margin at the truth passed
in up to 11 % of runs of twenty even prompts that all moved."""
COUNTS_DIFFER = 0.35
"""p-value of "no prompt changed" up to which the change is bounded for any distribution of bias:
small enough to leave most unchanged models their narrow interval, and large enough that undetected
changes bias the change by less than its error (tests/simulations/change.md)."""
SCORES_DIFFER = 0.1
"""The same for "the score did not change", two-sided: a FAIL against a margin is always bounded."""


class ChangeEnds(NamedTuple):
    """The ends of an interval of a change."""

    low: float
    high: float


def is_bounded(before: Whole, after: Whole, ratio: float) -> bool:
    """Tell whether a change has to be bounded, as prompts may have changed."""
    if before.shape[1] < SHOW_CHANGES or _fewest(before, after) < FEW_IMAGES:
        return True
    scores = 2.0 * float(scipy.special.ndtr(-abs(ratio)))
    return scores <= SCORES_DIFFER or moved_p_value(before, after) <= COUNTS_DIFFER


def _fewest(before: Whole, after: Whole) -> int:
    """Return the fewest images that any prompt has on a side."""
    return int(min(before.sum(axis=0).min(), after.sum(axis=0).min()))


def moved_p_value(before: Whole, after: Whole) -> float:
    """Return the p-value against "no prompt's share changed", by a normal approximation.

    .. math:: sum of ((k_i - m_i)^2 / v_i - 1) / sqrt(sum of its variances)

    with the men now, k_i, hypergeometric given the images before and after together.
    """
    excess = variance = 0.0
    rows = np.stack([before.sum(axis=0), after.sum(axis=0), before[0] + after[0], after[0]], axis=1)
    for old, new, men, now in rows.tolist():
        middle, spread, spread_of_square = _urn(old, new, men)
        if spread > 0.0:
            excess += (now - middle) ** 2 / spread - 1.0
            variance += spread_of_square
    return float(scipy.special.ndtr(-excess / math.sqrt(variance))) if variance > 0.0 else 1.0


def bounded_change(before: Whole, after: Whole, level: float) -> ChangeEnds:
    """Return a change of the model bias score that holds for any distributions of bias.

    .. math:: E c_below(after) - E c_above(before) <= change <= E c_above(after) - E c_below(before)

    Few prompts with few or unequal numbers of images have exact tails.
    """
    old, new = FixedWords.of(*before), FixedWords.of(*after)
    few = before.shape[1] < FEW_PROMPTS and _fewest(before, after) < FEW_IMAGES
    if few or old.shown or new.shown:
        return _exact_ends(before, after, level)
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    low = new.below.value - old.above.value - z * math.hypot(new.below.error, old.above.error)
    high = new.above.value - old.below.value + z * math.hypot(new.above.error, old.below.error)
    return ChangeEnds(low, high)


def _exact_ends(before: Whole, after: Whole, level: float) -> ChangeEnds:
    """Return the ends by the largest tails over all biases before and after (``worst_case``)."""
    sides = [
        [(int(n), int(rarer)) for n, rarer in zip(side.sum(axis=0), side.min(axis=0), strict=True)]
        for side in (before, after)
    ]

    def largest(old_side: Side, new_side: Side) -> float:
        """Return the largest sum of the change, or of its opposite, that is not rejected."""
        pairs = [summed(sides[0], old_side), summed(sides[1], new_side)]
        parts, outcomes = (sum(lists, ()) for lists in zip(*pairs, strict=True))
        return budget_not_rejected(parts, outcomes, (1.0 - level) / 2.0)

    # The biases now, and 1 - bias before, sum to the prompts' number and the change.
    prompts = before.shape[1]
    low = largest("above", "below") / prompts - 1.0
    return ChangeEnds(min(low, 1.0), max(1.0 - largest("below", "above") / prompts, -1.0))


@lru_cache(maxsize=65536)
def _urn(old: int, new: int, men: int) -> tuple[float, float, float]:
    """Return mean and variance of the men now, and the variance of their standardised square."""
    k = np.arange(new + 1)
    chance = scipy.stats.hypergeom.pmf(k, old + new, men, new)
    middle = float(chance @ k)
    spread = float(chance @ (k - middle) ** 2)
    if spread <= 1e-9:  # noqa: PLR2004 - all of one gender
        return middle, 0.0, 0.0
    return middle, spread, float(chance @ ((k - middle) ** 4)) / spread**2 - 1.0


# A single image is always one-sided, before and after: it would show no change with certainty.
FEWEST_IMAGES = 2
SMALLEST_ERROR = 1e-12
"""Smallest standard error that divides; where all counts agree the error is 0."""
DOUBT = 3.0
"""Factor of the bias that the fitted distributions suggest: they show a third of the true bias
where prompts became even (tests/simulations/regression.md)."""


def paired_model_bias_change(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - every interval of the model takes one
) -> Interval:
    """Return the model bias score after minus before, with an interval.

    Each prompt is scored by a table of its counts that has the same expectation before and after
    where its share did not change, for any two numbers of images (``spread_table``):
    so an unchanged model shows no change on average. Where prompts did change, the bias of the
    tables may not cancel. So where counts or scores differ by more than chance easily explains
    (``is_bounded``), and below thirty prompts always, the interval reaches at least as far as
    the bounding functions do, whose means bound both scores for any distribution of bias.

    .. math:: mean of h(after) - mean of h(before) -+ z sqrt(sum of Var h) / n_prompts

    The interval is approximate. In simulation (tests/simulations/change.md) the 95 % interval
    misses in at most 6 % of cases, most often where all scores are equal and no prompt moved.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        level: confidence level in (0, 1).
        seed: unused, as nothing is resampled; every interval of the model takes a seed.

    Returns:
        Interval in [-1, 1], above 0 for a worsening; n is the number of prompts with two clear
        images both before and after; both scores are means over these prompts.

    Raises:
        ValueError: shapes differ, no prompt can be compared, or an option is out of range.

    >>> change = paired_model_bias_change([10] * 20, [10] * 20, [20] * 20, [0] * 20,
    ...                                   level=0.95, seed=0)
    >>> change.low > 0.8
    True
    """
    check_level(level)
    before, after = _comparable(before_male, before_female, after_male, after_female)
    narrow, error = _by_tables(before, after, level)
    low, high = narrow.low, narrow.high
    sizes = (before.sum(axis=0), after.sum(axis=0))
    if narrow.n == 1:  # no mean is nearly normal: exact intervals of either score decide, too
        (old_men, old_women), (men, women) = before[:, 0].tolist(), after[:, 0].tolist()
        change = prompt_bias_change(old_men, old_women, men, women, level)
        low, high = min(low, change.low), max(high, change.high)
    if any(map(is_skewed, sizes)) or is_bounded(
        before, after, narrow.estimate / max(error, SMALLEST_ERROR)
    ):
        bounds = bounded_change(before, after, level)
        low, high = max(-1.0, min(low, bounds.low)), min(1.0, max(high, bounds.high))
    else:
        low, high = -_hidden(after, before, -low), _hidden(before, after, high)
    scores = _paired_scores(before, after)
    return containing(scores.after - scores.before, (low, high), level, narrow.method, narrow.n)


def _by_tables(before: Whole, after: Whole, level: float) -> tuple[Interval, float]:
    """Return the change by tables, and its standard error within prompts."""
    prompts = before.shape[1]
    family = max(FEW_PROMPTS, prompts)
    old, new, variances = _table_scores(before, after, family)
    estimate = _mean(new) - _mean(old)
    error = math.sqrt(variances.sum()) / prompts
    half = float(scipy.stats.norm.isf((1.0 - level) / 2.0)) * error
    bias = 0.0 if prompts < FEW_PROMPTS else _bias(before, after, family)
    low = max(-1.0, estimate - half - max(0.0, DOUBT * bias))
    high = min(1.0, estimate + half - min(0.0, DOUBT * bias))
    return Interval(estimate, low, high, level, "fixed-words", prompts), error


class PairedScores(NamedTuple):
    """The model bias scores before and after, estimated as ``corrected_model_bias_score`` does.

    Where a prompt has more images on one side, its score there is the mean over all subsets of as
    many images as the other side has: few images bias both scores alike.
    """

    before: float
    after: float


def paired_model_bias_scores(*counts: npt.ArrayLike) -> PairedScores:
    """Return the two scores whose difference ``paired_model_bias_change`` estimates."""
    return _paired_scores(*_comparable(*counts))


def _paired_scores(before: Whole, after: Whole) -> PairedScores:
    fewer = np.minimum(before.sum(axis=0), after.sum(axis=0)).tolist()
    sides = []
    for men, women in (before, after):
        rows = zip((men + women).tolist(), fewer, men.tolist(), strict=True)
        sides.append(_mean(np.array([_spread_midpoints(n, least)[k] for n, least, k in rows])))
    return PairedScores(*sides)


def _mean(scores: inputs.Floats) -> float:
    """Return the mean, clipped to [0, 1]: a single table entry may lie outside."""
    return float(np.clip(np.mean(scores), 0.0, 1.0))


def four_vectors(*counts: npt.ArrayLike) -> tuple[Whole, ...]:
    """Return male and female counts before and after, checked and as whole numbers."""
    names = ("before_male", "before_female", "after_male", "after_female")
    return tuple(inputs.count_vectors(**dict(zip(names, counts, strict=True))))


def count_table(name: str, counts: npt.ArrayLike) -> Whole:
    """Return counts of several runs or models, checked row by row, [n_rows, n_prompts]."""
    return np.stack([inputs.whole_counts(name, row) for row in np.atleast_2d(np.asarray(counts))])


def _comparable(*counts: npt.ArrayLike) -> tuple[Whole, Whole]:
    before_male, before_female, after_male, after_female = four_vectors(*counts)
    fewest = np.minimum(before_male + before_female, after_male + after_female)
    used = fewest >= FEWEST_IMAGES
    if not np.any(used):
        raise ValueError(
            f"no prompt of {used.size} has two clear images both before and after: "
            "before_male, before_female, after_male and after_female cannot be compared"
        )
    before, after = np.stack([before_male, before_female]), np.stack([after_male, after_female])
    return before[:, used], after[:, used]


def _table_scores(
    before: Whole, after: Whole, family: int
) -> tuple[inputs.Floats, inputs.Floats, inputs.Floats]:
    """Return each prompt's score before and after, and the variance of their difference."""
    sizes = [before.sum(axis=0), after.sum(axis=0)]
    fewer = np.minimum(*sizes)
    scores, variances = np.zeros((2, len(fewer))), np.zeros(len(fewer))
    for side, counts in enumerate((before, after)):
        rows = np.stack([counts[0], sizes[side], fewer], axis=1).tolist()
        for place, (k, size, least) in enumerate(rows):
            scores[side, place] = spread_table(size, least, family)[k]
            variances[place] += _score_variances(size, least, family)[k]
    return scores[0], scores[1], variances


@lru_cache(maxsize=1024)
def _score_variances(n: int, fewer: int, family: int) -> inputs.Floats:
    """Return the variance of a score at 0 to n men, with shares (k + 1/2) / (n + 1), [n + 1]."""
    return _table_variance(spread_table(n, fewer, family), (np.arange(n + 1) + 0.5) / (n + 1.0))


def _table_variance(table: inputs.Floats, shares: npt.ArrayLike) -> inputs.Floats:
    """Return the variance of a table's score at shares of men, [n_shares]."""
    p, n = np.atleast_1d(np.asarray(shares, dtype=np.float64)), len(table) - 1
    chance = scipy.stats.binom.pmf(np.arange(n + 1), n, p[:, None])
    return np.asarray(chance @ table**2 - (chance @ table) ** 2, dtype=np.float64)


def _hidden(before: Whole, after: Whole, shown: float) -> float:
    """Return the largest growth of which the tables show no more than this on average.

    Tables are flat near even shares: a small growth of even prompts is hardly seen. Growth is seen
    least where it lifts the most even prompts to one level, given the fitted distribution of bias.
    """
    if shown <= 0.0:
        return shown
    family = max(FEW_PROMPTS, before.shape[1])
    fewer = np.minimum(before.sum(axis=0), after.sum(axis=0))
    spread = spread_given_counts(*(before + after))
    levels = GRID[:, None]
    lifted = np.maximum(levels, GRID)
    grown, seen = np.zeros(len(GRID)), np.zeros(len(GRID))
    for n in np.unique(fewer).tolist():
        weight = spread[fewer == n].sum(axis=0) / len(fewer)
        bias = table_bias(n, family)
        growth = lifted - GRID
        grown += growth @ weight
        seen += (growth + np.interp(lifted, BIAS, bias) - np.interp(GRID, BIAS, bias)) @ weight
    return max(shown, float(np.interp(shown, np.maximum.accumulate(seen), grown)))


def _bias(before: Whole, after: Whole, family: int) -> float:
    """Return the bias of the tables' change under the fitted distributions of bias."""
    fewer = np.minimum(before.sum(axis=0), after.sum(axis=0))
    sizes, of_size = np.unique(fewer, return_inverse=True)
    biases = np.stack([np.interp(GRID, BIAS, table_bias(int(n), family)) for n in sizes])
    shift = spread_given_counts(*after) - spread_given_counts(*before)
    return float(np.sum(shift * biases[of_size.ravel()]) / len(fewer))


SIGNED_GRID: inputs.Floats = np.linspace(-1.0, 1.0, 41)
"""Values of 2p - 1 that a prompt may have."""
SPREAD_OUT = 1.0
"""Weight, in prompts, of an even distribution that is mixed into the distribution of either
side."""
UNCHANGED = 2.0
"""Weight, in prompts, of the prior that no prompt changed."""
FEWEST_PROMPTS = 10
GROWTH_STEPS = 100


def growth_probabilities(*counts: npt.ArrayLike, margin: float = 0.0) -> inputs.Floats | None:
    """Return each prompt's posterior probability that its bias grew by more than the margin.

    A prompt has one share before and after, or two independent ones; the mixture is fitted to all
    counts (empirical Bayes, Efron 2016). None with fewer than ten prompts.
    """
    men_before, women_before, men, women = four_vectors(*counts)
    tolerated = float(inputs.in_range("margin", margin, 0.0, 1.0))
    used = (men_before + women_before > 0) & (men + women > 0)
    if np.count_nonzero(used) < FEWEST_PROMPTS:
        return None
    old, new = (
        np.asarray(scipy.stats.binom.pmf(k[:, None], (k + rest)[:, None], male_share(SIGNED_GRID)))
        for k, rest in ((men_before, women_before), (men, women))
    )
    changed, before, after = _growth_fit(old[used], new[used])
    beyond = np.abs(SIGNED_GRID)[None, :] > np.abs(SIGNED_GRID)[:, None] + tolerated + 1e-9
    each_old, each_new = before * old, after * new
    same = (1.0 - changed) * (each_old * new).sum(axis=1)
    grown = changed * ((each_old @ beyond) * each_new).sum(axis=1)
    total = same + changed * each_old.sum(axis=1) * each_new.sum(axis=1)
    return np.asarray(grown / total, dtype=np.float64)


def _growth_fit(
    old: inputs.Floats, new: inputs.Floats
) -> tuple[float, inputs.Floats, inputs.Floats]:
    """Return the share of changed prompts, and the distributions of 2p - 1 before and after."""
    even = np.full(len(SIGNED_GRID), 1.0 / len(SIGNED_GRID))
    changed, before, after = 0.5, even, even
    for _ in range(GROWTH_STEPS):
        same = (1.0 - changed) * before * old * new
        each_old, each_new = before * old, after * new
        different = changed * each_old.sum(axis=1) * each_new.sum(axis=1)
        of_changed = different / (different + same.sum(axis=1))
        same_weight = (1.0 - of_changed)[:, None] * same / same.sum(axis=1, keepdims=True)
        parted = of_changed[:, None]
        before = _mixed(same_weight + parted * each_old / each_old.sum(axis=1, keepdims=True), even)
        after = _mixed(parted * each_new / each_new.sum(axis=1, keepdims=True), even)
        changed = float(of_changed.sum() / (len(of_changed) + UNCHANGED))
    return changed, before, after


def _mixed(expected: inputs.Floats, even: inputs.Floats) -> inputs.Floats:
    total = expected.sum(axis=0)
    total = (total + total[::-1]) / 2.0 + SPREAD_OUT * even
    return np.asarray(total / total.sum(), dtype=np.float64)


Signs = npt.NDArray[np.int64]


def paired_prompt_p_value(
    before: npt.ArrayLike, after: npt.ArrayLike, *, margin: float = 0.0, shared_seeds: bool
) -> float:
    """Return the exact p-value against "the absolute prompt bias score grew by at most the margin".

    Growth to either side beyond the old score and its mirror image, the smaller p-value doubled
    (Bonferroni). With shared seeds and margin 0 McNemar's test, else an unconditional one (Chan
    1998), which is conservative for positively correlated pairs.
    """
    old, new = _signs("before", before), _signs("after", after)
    tolerated = float(inputs.in_range("margin", margin, 0.0, 2.0))
    if shared_seeds:
        inputs.same_shape(before=old, after=new)
    if not np.any(old) or not np.any(new):
        return 1.0
    # |after| - |before| > margin on a side: beyond the old score and its mirror image.
    sides = [
        max(_exceeds(side * new, mirror * old, tolerated, shared_seeds) for mirror in (1, -1))
        for side in (1, -1)
    ]
    return min(1.0, 2.0 * min(sides))


def _exceeds(new: Signs, old: Signs, margin: float, shared_seeds: bool) -> float:
    if shared_seeds and margin == 0.0:  # McNemar
        up, down = int(np.sum((new > 0) & (old < 0))), int(np.sum((new < 0) & (old > 0)))
        return float(binomial_tail(up, up + down, 0.5))
    (k_new, n_new), (k_old, n_old) = (
        (int(np.sum(signs > 0)), int(np.sum(signs != 0))) for signs in (new, old)
    )
    return excess_p_value(k_new, n_new, k_old, n_old, margin / 2.0)


def _signs(name: str, values: npt.ArrayLike) -> Signs:
    array = inputs.floats(name, values)
    inputs.one_dimensional(**{name: array})
    for position, value in enumerate(array.tolist()):
        if value not in {-1.0, 0.0, 1.0}:
            raise ValueError(f"{name} must hold 1, -1 or 0, got {name}[{position}]={value:g}")
    return array.astype(np.int64)


def prompt_bias_change(
    before_male: int, before_female: int, after_male: int, after_female: int, level: float
) -> Interval:
    """Return the change of one prompt's absolute bias score, with an interval."""
    before = abs(prompt_bias_interval(before_male, before_female, level))
    after = abs(prompt_bias_interval(after_male, after_female, level))
    return interval_difference(before, after)


def bounded_by_pairs(change: Interval, moved: int, pairs: int, reach: float) -> Interval:
    """Return a change of a mean over prompts, narrowed by how few pairs of images differ.

    Where the chance that the two images of a seed have different labels is D, a share changes by at
    most D, and a score by at most ``reach`` times that. The upper end of D is exact for any chances
    of the prompts, which have equal numbers of pairs (Clopper and Pearson 1934; Hoeffding 1956).

    >>> wide = Interval(0.0, -0.2, 0.2, 0.9, "tables", 10)
    >>> print(bounded_by_pairs(wide, 0, 200, 2.0))
    0.000 [-0.030, 0.030]
    """
    most = reach * float(exact_ends(moved, pairs, (1.0 - change.level) / 2.0)[1])
    estimate = min(max(change.estimate, -most), most)
    low, high = max(change.low, -most), min(change.high, most)
    return replace(change, estimate=estimate, low=min(low, estimate), high=max(high, estimate))
