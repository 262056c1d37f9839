"""Mean distance of prompts from their references, without the upward bias of few images.

The plug-in |k/n - r| is biased upwards: a model that follows its reference exactly shows more than
0. docs/decisions/0001 treats the even reference; this module treats any reference.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.metrics.total_variation import SUM_TOLERANCE
from pytest_t2i.statistics.groups.fixed_words_reference_distance import Parts, ceiling, fixed_ends
from pytest_t2i.statistics.groups.prompt_reference_distance import total_variation_interval
from pytest_t2i.statistics.means.mean import mean_interval
from pytest_t2i.statistics.model.bias import model_bias_interval
from pytest_t2i.statistics.model.deconvolution import mean_departure
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.shares.inversion import Alternative, check_words, inverted_p_value
from pytest_t2i.statistics.shares.resampling import check_resampling

EVEN = 0.5
"""Reference share for which the distance is half of the bias score."""


def total_variation_floor(counts: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Return the expected mean plug-in distance of a model that follows the reference.

    Args:
        counts: images per prompt and label, [n_prompts, n_labels].
        reference: share of each label for each prompt, [n_prompts, n_labels]; or [n_labels] for all
            prompts.

    Returns:
        The expected plug-in in [0, 1].

    Raises:
        ValueError: shapes differ, a count is no whole number, there is no image, or a row of the
            reference is no distribution.

    >>> round(total_variation_floor([[10, 10]], [0.5, 0.5]), 4)
    0.0881
    """
    parts = parts_of(counts, reference)
    return float(np.mean(np.sum(_floors(parts), axis=1)) * parts.weight)


def mean_total_variation_interval(
    counts: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    level: float,
    seed: int,
    words: Words = "fixed",
    resamples: int = 2000,
) -> Interval:
    """Return the mean total variation distance of prompts from their references, with an interval.

    The interval is for these prompts or for words like them, as in ``model_bias_interval``; each
    end holds at the one-sided level (1 + level) / 2, approximately.

    With sampled words, both ends follow from the plug-in of a label, s = |k/n - r|. Its expectation
    B(p) is convex in p, at least |p - r|, equal to |p - r| at p = 0 and 1, and f at p = r. So both
    ends hold for any distribution of distances over prompts:

    - low: B lies below its chords, so |p - r| >= (B - f) m / (m - f) with m = max(r, 1 - r). The
      low end is that of the mean of (s - f) m / (m - f), whose expectation is 0 for a model that
      follows the reference.
    - high: the largest mean distance that is compatible with the upper end S of the mean of s, min
      over l of l S + mean of max over p of (``|p - r|`` - l B(p)) (Lagrangian duality). With an
      even reference it is the end that Jensen's inequality gives in ``model_bias_interval``.

    Both means come from a bootstrap of prompts (``mean_interval`` with bounds). For fixed words see
    ``fixed_words_reference_distance.fixed_ends``; with even references of two labels the interval
    is half that of the model bias score. One prompt alone has its exact interval.

    Args:
        counts: images per prompt and label, [n_prompts, n_labels].
        reference: as in ``total_variation_floor``.
        level: confidence level in (0, 1).
        seed: seed of the resampling; unused with fixed words.
        words: "fixed" for these prompts, "sample" for words like them.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        Interval in [0, 1]; n is the number of prompts with an image.

    Raises:
        ValueError: as in ``total_variation_floor``, or an option is out of range.

    >>> men = np.array([2, 4, 3, 1, 2, 3, 2, 2])
    >>> print(mean_total_variation_interval(np.stack([men, 20 - men], 1), [0.12, 0.88],
    ...                                     level=0.95, seed=0))
    0.003 [0.000, 0.069]
    """
    check_resampling(level, resamples)
    check_words(words)
    parts = parts_of(counts, reference)
    if len(parts.n) == 1:
        return _single(counts, reference, parts, level)
    if words == "sample":
        return _sampled(parts, level, seed, resamples)
    if parts.expected.shape[1] == 1 and np.all(parts.expected == EVEN):
        shown = parts.shown[:, 0]
        half = model_bias_interval(shown, parts.n - shown, level=level, seed=seed)
        estimate, low, high = half.estimate / 2.0, half.low / 2.0, half.high / 2.0
        return Interval(estimate, low, high, level, half.method, half.n)
    low, high = fixed_ends(parts, level)
    estimate = _corrected(parts)
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "bounding functions", len(parts.n)
    )


def mean_total_variation_p_value(
    counts: npt.ArrayLike,
    reference: npt.ArrayLike,
    bound: float,
    *,
    alternative: Alternative = "greater",
    words: Words = "fixed",
    seed: int = 0,
    resamples: int = 2000,
) -> float:
    """Return the one-sided p-value of the mean total variation distance against a bound.

    It inverts ``mean_total_variation_interval`` (``inverted_p_value``).

    Args:
        counts: images per prompt and label, [n_prompts, n_labels].
        reference: as in ``total_variation_floor``.
        bound: limit of the distance, in [0, 1].
        alternative: "greater" against "the distance is at most the bound", "less" against "the
            distance is at least the bound".
        words: "fixed" for these prompts, "sample" for words like them.
        seed: seed of the resampling; unused with fixed words.
        resamples: number of bootstrap resamples, for sampled words.

    Returns:
        p-value in (0, 1].

    Raises:
        ValueError: as in ``mean_total_variation_interval``.

    >>> mean_total_variation_p_value([[20, 0], [18, 2]], [0.5, 0.5], 0.1) < 0.001
    True
    """
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))

    def interval(level: float) -> Interval:
        return mean_total_variation_interval(
            counts, reference, level=level, seed=seed, words=words, resamples=resamples
        )

    return inverted_p_value(interval, limit, alternative=alternative)


def _sampled(parts: Parts, level: float, seed: int, resamples: int) -> Interval:
    floors, furthest = _floors(parts), np.maximum(parts.expected, 1.0 - parts.expected)
    # One image alone is no evidence against an even reference: its plug-in is always 1/2.
    room = np.where(furthest > floors, furthest - floors, np.inf)
    sure = np.sum((parts.distances - floors) * furthest / room, axis=1) * parts.weight
    least = float(np.min(-np.sum(floors * furthest / room, axis=1))) * parts.weight
    most = min(1.0, float(np.max(np.sum(furthest, axis=1))) * parts.weight)
    plug_in = np.sum(parts.distances, axis=1) * parts.weight

    def resampled(values: inputs.Floats, lowest: float) -> Interval:
        return mean_interval(
            list(values[:, None]), level=level, seed=seed, bounds=(lowest, max(most, values.max())),
            resamples=resamples,
        )  # fmt: skip

    estimate = _corrected(parts)
    low = max(0.0, resampled(sure, min(least, float(sure.min()))).low)
    high = ceiling(parts, resampled(plug_in, 0.0).high)
    return Interval(
        estimate,
        min(low, estimate),
        min(1.0, max(high, estimate)),
        level,
        "cluster-bootstrap of bounds",
        len(parts.n),
    )


def parts_of(counts: npt.ArrayLike, reference: npt.ArrayLike) -> Parts:
    """Return the counts as shares of one label against the rest, for prompts that have an image.

    Raises ValueError as ``total_variation_floor`` does.

    >>> parts_of([[2, 1, 1], [0, 0, 0]], [0.5, 0.25, 0.25]).n
    array([4])
    """
    shown = inputs.whole_counts("counts", counts)
    if shown.ndim != 2 or shown.shape[1] < 2:  # noqa: PLR2004 - prompts and labels
        raise ValueError(f"counts must be [n_prompts, n_labels], got counts.shape={shown.shape}")
    shares = inputs.in_range("reference", reference, 0.0, 1.0)
    if shares.shape not in (shown.shape, shown.shape[1:]):
        raise ValueError(
            f"reference must have the shape {shown.shape} or {shown.shape[1:]}, "
            f"got reference.shape={shares.shape}"
        )
    shares = np.broadcast_to(shares, shown.shape)
    totals = shares.sum(axis=1)
    if np.any(np.abs(totals - 1.0) > SUM_TOLERANCE):
        wrong = int(np.argmax(np.abs(totals - 1.0)))
        raise ValueError(f"reference must sum to 1, got {totals[wrong]:g} for prompt {wrong}")
    n = shown.sum(axis=1)
    used = n > 0
    if not np.any(used):
        raise ValueError(f"counts hold no image in {used.size} prompts")
    last, weight = (1, 1.0) if shown.shape[1] == 2 else (None, 0.5)  # noqa: PLR2004 - one share
    return Parts(shown[used, :last], n[used], shares[used, :last], weight)


def _corrected(parts: Parts) -> float:
    result = sum(
        mean_departure(parts.shown[:, k], parts.n, parts.expected[:, k])
        for k in range(parts.shown.shape[1])
    )
    return float(min(1.0, parts.weight * result))


def _single(
    counts: npt.ArrayLike, reference: npt.ArrayLike, parts: Parts, level: float
) -> Interval:
    rows = np.asarray(counts)
    used = rows.sum(axis=1) > 0
    shares = np.broadcast_to(np.asarray(reference, dtype=np.float64), rows.shape)[used][0]
    counted, real = (
        {str(label): value for label, value in enumerate(values.tolist())}
        for values in (rows[used][0], shares)
    )
    exact = total_variation_interval(counted, real, level)
    estimate = _corrected(parts)
    return Interval(
        estimate, min(exact.low, estimate), max(exact.high, estimate), level, exact.method, 1
    )


def _floors(parts: Parts) -> inputs.Floats:
    """Return the expected plug-in of a model that follows the reference, [n_prompts, n_parts]."""
    floors = np.empty(parts.expected.shape)
    for n, r, at in parts.kinds():
        floors[at] = _expected_distance(n, r, np.array([r]))[0]
    return floors


def _expected_distance(n: int, r: float, p: inputs.Floats) -> inputs.Floats:
    """Return E|K/n - r| for K ~ Binomial(n, p), [n_values]."""
    k = np.arange(n + 1)
    return np.asarray(scipy.stats.binom.pmf(k, n, p[:, None]) @ np.abs(k / n - r), dtype=np.float64)
