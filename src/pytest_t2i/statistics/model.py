"""The model bias score, corrected for the upward bias of few images; its interval and p-value.

Two kinds of evidence hold for any distribution of bias over the prompts (docs/decisions/0001 and
0007; tests/simulations checks the coverage):

- identical prompts: the exact distribution of the paper's score where all prompts share one
  ``|2p - 1|``, summed on a lattice by fast Fourier transform. Among all distributions of bias with
  one mean it has the smallest expected score (Jensen), and so it is the least favourable one for
  the null hypothesis "the score is at least the bound".
- bounding functions: means of c(counts) with ``E c <= |2p - 1|`` or ``E c >= |2p - 1|``, and the
  sampling error of images within prompts. They rest on a normal or Student approximation, which
  needs a few prompts.

The estimate is the mean over prompts of the midpoint of both bounding functions. It is a mean of
one number per prompt, so the estimate of a suite lies between those of its parts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs, model_bias_score
from pytest_t2i.statistics.bounding import (
    EVEN,
    Bounding,
    Side,
    bounding_distance,
    rarer_chances,
)
from pytest_t2i.statistics.inversion import Alternative, check_alternative
from pytest_t2i.statistics.shares import check_level, containing, male_share
from pytest_t2i.statistics.worst_case import Part, budget_p_value, is_skewed, prompt_part

Whole = npt.NDArray[np.int64]


def fair_floor(n_clear: npt.ArrayLike) -> float:
    """Return the model bias score (Lyu eq. 1) that a perfectly fair model shows on average.

    .. math:: mean of E|2K/n - 1|,  K ~ Binomial(n, 1/2), for independent images

    Args:
        n_clear: clear images per prompt, a number or [n_prompts]; prompts with 0 are left out.

    Returns:
        The expected score in (0, 1]; about 0.18 at 20 images.

    Raises:
        ValueError: a count is no whole number, or no prompt has a clear image.

    >>> round(fair_floor(20), 4)
    0.1762
    """
    n = np.atleast_1d(inputs.whole_counts("n_clear", n_clear))
    if not np.any(n):
        raise ValueError(f"n_clear holds no clear image in {n.size} prompts")
    return float(expected_score(n[n > 0], np.array([0.0]))[0])


def expected_score(n_clear: npt.NDArray[np.int64], bias: inputs.Floats) -> inputs.Floats:
    """Return the expected paper score when every prompt has the same |2p - 1|."""
    total = np.zeros(len(bias))
    for n, times in sorted(Counter(n_clear.tolist()).items()):
        k = np.arange(n + 1)
        total += (
            times * scipy.stats.binom.pmf(k, n, male_share(bias)[:, None]) @ np.abs(2 * k / n - 1)
        )
    # With one image per prompt every score is 1; rounding must not raise it.
    return np.minimum(total / len(n_clear), 1.0)


RIDGE = 0.01
"""Added slope that makes slopes of expected scores strictly increasing, and so prompts identical
where all slopes are 1."""
REACH = 8.0
"""Standard deviations on either side that the lattice holds; the probability beyond is below
1e-14."""
FINER = 16.0
"""Lattice points per standard deviation of a prompt, where prompts differ in their number of
images; splitting scores between two points adds less than a thousandth to the variance."""
EQUAL_SCORES = 1e-9
"""Equal sums of scores may differ in the last place."""
BIASES: inputs.Floats = np.sin(np.linspace(0.0, np.pi / 2.0, 401))
"""|2p - 1| at which slopes of expected scores are computed."""


class Sizes(NamedTuple):
    """The numbers of prompts with each number of clear images."""

    images: tuple[int, ...]
    """Different numbers of clear images, increasing."""
    prompts: tuple[int, ...]
    """Number of prompts with each number of clear images."""

    @property
    def total(self) -> int:
        """Number of prompts."""
        return sum(self.prompts)


class Tails(NamedTuple):
    """The probabilities of a score at most, and at least, the observed one."""

    below: float
    above: float


def sizes_of(clear: Whole) -> Sizes:
    """Group prompts by their number of clear images."""
    images, prompts = np.unique(clear, return_counts=True)
    return Sizes(tuple(images.tolist()), tuple(prompts.tolist()))


def equal_magnitudes(sizes: Sizes, mean: float) -> tuple[float, ...]:
    """Return the same |2p - 1| for each size of prompt."""
    return (mean,) * len(sizes.images)


def least_shown(sizes: Sizes, mean: float) -> tuple[float, ...]:
    """Return the |2p - 1| of each size of prompt, of a given mean and least expected score.

    The slope of the expected score is the same for every size (Lagrange).
    """
    if len(sizes.images) == 1:
        return equal_magnitudes(sizes, mean)
    slopes = [_slopes(n) for n in sizes.images]

    def spread(slope: float) -> inputs.Floats:
        return np.array([np.interp(slope, entry, BIASES) for entry in slopes])

    def short(slope: float) -> float:
        return float(np.average(spread(slope), weights=sizes.prompts)) - mean

    top = max(float(entry[-1]) for entry in slopes)
    result = float(scipy.optimize.brentq(short, -1.0, top + 1.0, xtol=1e-12))
    return tuple(spread(result).tolist())


TILTS = (1.0, 0.5, 0.0, -0.5, -1.0)
"""Places between prompts alike (0) and those of the least expected score (1), and beyond."""
MOST_CUTS = 6
"""Largest number of sizes up to which prompts are tried to be those that are not one-sided."""


def _few_even(sizes: Sizes, mean: float) -> list[tuple[float, ...]]:
    """Return the |2p - 1| of each size of prompt, where prompts of few images are the even ones.

    What all prompts lack of being one-sided is shared by those with the fewest images, up to
    several sizes: where the others show one gender alone, such a few decide the score.
    """
    prompts = np.array(sizes.prompts, dtype=np.float64)
    lacking, every = (1.0 - mean) * sizes.total, np.arange(len(prompts))
    last = max(1, int(np.searchsorted(np.cumsum(prompts), sizes.total / 2.0)))
    cuts = np.unique(np.linspace(0, min(last, len(prompts) - 1), MOST_CUTS).astype(np.int64))
    candidates = []
    for cut in cuts.tolist():
        few = float(prompts[: cut + 1].sum())
        taken = min(lacking, few)
        rest = (lacking - taken) / max(sizes.total - few, 1.0)
        bias = np.where(every <= cut, 1.0 - taken / few, 1.0 - rest)
        candidates.append(tuple(np.clip(bias, 0.0, 1.0).tolist()))
    return candidates


def least_favourable(sizes: Sizes, mean: float) -> list[tuple[float, ...]]:
    """Return the |2p - 1| of each size of prompt that a small score is tried against.

    Equal numbers of images: prompts alike (Jensen). Otherwise several distributions of this mean
    are tried, and the largest p-value counts: prompts of few images scatter more where less biased.
    """
    if len(sizes.images) == 1:
        return [equal_magnitudes(sizes, mean)]
    least_scores, weights = np.array(least_shown(sizes, mean)), np.array(sizes.prompts)
    candidates = []
    for tilt in TILTS:
        bias = np.clip(mean + tilt * (least_scores - mean), 0.0, 1.0)
        # What clipping took away is given to the sizes that have room.
        short = mean - float(np.average(bias, weights=weights))
        room = 1.0 - bias if short > 0 else bias
        total = float(np.average(room, weights=weights))
        bias = bias + short * room / total if total else bias
        candidates.append(tuple(np.clip(bias, 0.0, 1.0).tolist()))
    return candidates + _few_even(sizes, mean)


@lru_cache(maxsize=4096)
def score_tails(sizes: Sizes, bias: tuple[float, ...], score: float) -> Tails:
    """Return both tails of the paper's score at these biases of each size of prompt."""
    # Equal sizes have a lattice of their own; others share a finer one.
    spacing = np.sqrt(np.average(1.0 / np.array(sizes.images), weights=sizes.prompts)) / FINER
    unit = 2.0 / sizes.images[0] if len(sizes.images) == 1 else float(spacing)
    laws = [_law(n, t, unit) for n, t in zip(sizes.images, bias, strict=True)]
    kinds = list(zip(sizes.prompts, laws, strict=True))
    middle = sum(k * law.middle for k, law in kinds)
    deviation = np.sqrt(sum(k * law.variance for k, law in kinds))
    length = scipy.fft.next_fast_len(int(2 * REACH * deviation) + 64, real=True)
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    for k, law in kinds:
        wrapped = np.bincount(law.places % length, weights=law.chances, minlength=length)
        transform *= scipy.fft.rfft(wrapped) ** k
    chances = np.maximum(scipy.fft.irfft(transform, n=length), 0.0)
    first = round(middle) - length // 2
    shortfall = (1.0 - score) * sizes.total / unit
    places = first + np.arange(length)
    chances = np.roll(chances, -(first % length))
    # Where prompts differ in their number of images, the observed sum lies between two lattice
    # points: the farther one counts, which keeps both tails conservative.
    at_least = places >= np.floor(shortfall + EQUAL_SCORES)
    at_most = places <= np.ceil(shortfall - EQUAL_SCORES)
    return Tails(min(1.0, float(chances[at_least].sum())), min(1.0, float(chances[at_most].sum())))


class _Law(NamedTuple):
    places: Whole
    chances: inputs.Floats
    middle: float
    variance: float


@lru_cache(maxsize=4096)
def _law(n: int, bias: float, unit: float) -> _Law:
    """Return 1 - score of one prompt on the lattice; a value between two points keeps its mean."""
    chances = rarer_chances(n, np.array([bias]))[0]
    exact = 2.0 * np.arange(n // 2 + 1) / n / unit
    below = np.floor(exact + EQUAL_SCORES).astype(np.int64)
    share = np.maximum(exact - below, 0.0)
    places = np.concatenate([below, below + 1])
    split = np.concatenate([chances * (1.0 - share), chances * share])
    middle = float(split @ places)
    return _Law(places, split, middle, float(split @ (places - middle) ** 2))


@lru_cache(maxsize=1024)
def _slopes(n: int) -> inputs.Floats:
    expected_scores = rarer_chances(n, BIASES) @ (1.0 - 2.0 * np.arange(n // 2 + 1) / n)
    slopes = np.gradient(expected_scores, BIASES) + RIDGE * BIASES
    return np.asarray(np.maximum.accumulate(slopes + 1e-12 * np.arange(len(BIASES))))


ENOUGH_PROMPTS = 10
"""Fewest prompts for the bounding function from above. The sum over fewer prompts is too far from
normal: the end was too low in 4 to 23 % of runs instead of 2.5 %, and the exact end is available.
The same number of prompts must have images of both genders: where 29 of 30 had images of one gender
only, one fair prompt decided, and a limit at the truth passed in 32 % of runs
(tests/simulations/near_one.md)."""
TOO_EVEN = 0.1
"""Probability under a fair model below which more even counts give no further evidence: else luck
alone would end an interval at 0."""
TWO_WAYS = 1.2
"""Factor of the smaller of the two p-values from below. Their errors mostly coincide: without the
factor, 7 % of verdicts at 5 % were wrong at worst (all prompts at 0.2), not 10 %."""
TOO_UNLIKELY = 1e-6
"""Probability of counts so even that no fair model explains them; they count as a fair model's."""
SMALLEST_ERROR = 1e-12
"""Smallest standard error that divides; where all counts agree the error is 0."""


SIDES: dict[Side, float] = {"below": 0.0, "above": 1.0}
"""Side of the true bias -> the bias on this side that any prompt has at the least, or at most."""


class Mean(NamedTuple):
    """The mean over prompts of a function of the counts, and its standard error within prompts."""

    value: float
    error: float

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value against "the expectation is at most the bound"."""
        return float(scipy.special.ndtr((bound - self.value) / max(self.error, SMALLEST_ERROR)))


@dataclass(frozen=True, slots=True)
class FixedWords:
    """The evidence in the counts of fixed prompts, each with a clear image."""

    sizes: Sizes
    score: float
    """The paper's score."""
    below: Mean
    """Mean of the bounding functions from below."""
    above: Mean
    even: float
    """Probability that a fair model shows at most this score."""
    mixed: int
    """Number of prompts with images of both genders."""
    shown: tuple[tuple[int, int], ...] = ()
    """(images, images of the rarer gender) of each prompt, where few prompts with unequal numbers
    of images need an exact tail; else ()."""

    @classmethod
    def of(cls, men: Whole, women: Whole) -> FixedWords:
        """Build the evidence from counts, [n_prompts], where every prompt has an image."""
        clear, rarer = men + women, np.minimum(men, women)
        sizes, prompts = sizes_of(clear), len(clear)
        by_size = {n: rarer[clear == n] for n in sizes.images}
        least = _fewest_clear_images(sizes)
        below, above = (
            _mean(
                {n: images for n, images in by_size.items() if n >= least},
                partial(_of_bias, prompts=prompts, side=side),
                [extreme] * int(np.count_nonzero(clear < least)),
            )
            for side, extreme in SIDES.items()
        )
        score = model_bias_score(men, women)
        even = score_tails(sizes, equal_magnitudes(sizes, 0.0), score).below
        mixed = int(np.count_nonzero(rarer[clear >= least]))
        skewed = is_skewed(clear.tolist())
        shown = tuple(sorted(zip(clear.tolist(), rarer.tolist(), strict=True))) if skewed else ()
        return cls(sizes, score, below, above, even, mixed, shown)

    def p_greater(self, bound: float) -> float:
        """Return the p-value against "the model bias score is at most the bound"."""
        if self.shown:
            return budget_p_value(*summed(self.shown, "below"), bound * len(self.shown))
        tried = {equal_magnitudes(self.sizes, bound)}
        if len(self.sizes.images) > 1:
            tried.update(_few_even(self.sizes, bound))
        exact = max(score_tails(self.sizes, bias, self.score).above for bias in tried)
        if self.sizes.total == 1:
            return exact
        return max(exact, self.below.p_above(bound))

    def p_less(self, bound: float) -> float:
        """Return the p-value against "the model bias score is at least the bound"."""
        if self.shown:
            return budget_p_value(*summed(self.shown, "above"), (1.0 - bound) * len(self.shown))
        exact = max(map(self._exact_less, least_favourable(self.sizes, bound)))
        if self.sizes.total < ENOUGH_PROMPTS or self.even < TOO_EVEN:
            return exact
        if self.mixed < ENOUGH_PROMPTS:
            return min(1.0, TWO_WAYS * exact)
        # Student's distribution: the standard error of ten prompts is itself uncertain.
        error = max(self.above.error, SMALLEST_ERROR)
        student = scipy.stats.t.cdf((self.above.value - bound) / error, self.mixed - 1)
        return min(1.0, TWO_WAYS * min(exact, float(student)))

    def _exact_less(self, bias: tuple[float, ...]) -> float:
        if self.even < TOO_UNLIKELY:
            clear = np.repeat(self.sizes.images, self.sizes.prompts)
            usual = float(expected_score(clear, np.zeros(1))[0])
            return score_tails(self.sizes, bias, usual).below
        tail = score_tails(self.sizes, bias, self.score).below
        return min(1.0, tail * max(1.0, TOO_EVEN / self.even))


def summed(
    shown: Sequence[tuple[int, int]], side: Side
) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """Return the prompts as parts of a sum, with their outcomes; from above, of 1 - |2p - 1|."""
    parts = tuple(prompt_part(n, EVEN, side, len(shown), 2.0) for n, _ in shown)
    return parts, tuple(rarer for _, rarer in shown)


@lru_cache(maxsize=4096)
def _of_bias(n: int, prompts: int, side: Side) -> Bounding:
    """Return the bounding function of |2p - 1|, twice the distance from 1/2."""
    return bounding_distance(n, EVEN, side, prompts).twice()


def lower_end(p_greater: Callable[[float], float], error: float) -> float:
    """Return the smallest bound in [0, 1] that the p-value does not reject at this error."""
    if p_greater(0.0) > error:
        return 0.0
    if p_greater(1.0) <= error:
        return 1.0
    return float(scipy.optimize.brentq(lambda b: p_greater(b) - error, 0.0, 1.0, xtol=1e-6))


def upper_end(p_less: Callable[[float], float], error: float) -> float:
    """Return the largest bound in [0, 1] that the p-value does not reject at this error."""
    return 1.0 - lower_end(lambda bound: p_less(1.0 - bound), error)


def _fewest_clear_images(sizes: Sizes) -> int:
    """Return the fewest clear images of prompts that count in the means of bounding functions.

    Sampling errors are as if of ``(sum 1/n)^2 / sum 1/n^2`` prompts alike; prompts of the fewest
    images, whose sum is far from normal, are left out until these are ENOUGH_PROMPTS or as many as
    they can be. The numbers of images decide, and not what the images show.
    """
    images, prompts = np.array(sizes.images, np.float64), np.array(sizes.prompts)
    alike = [
        float((prompts[k:] / images[k:]).sum() ** 2 / (prompts[k:] / images[k:] ** 2).sum())
        for k in range(len(images))
    ]
    enough = min(ENOUGH_PROMPTS, max(alike))
    return sizes.images[next(k for k, count in enumerate(alike) if count >= enough)]


def _mean(
    by_size: dict[int, Whole], function: Callable[[int], Bounding], constants: Sequence[float] = ()
) -> Mean:
    """Return the mean of a function of the rarer gender's images; ``constants`` are certain."""
    prompts = sum(map(len, by_size.values())) + len(constants)
    total = sum(constants)
    total += sum(float(np.sum(function(n).value[rarer])) for n, rarer in by_size.items())
    variance = sum(float(np.sum(function(n).variance[rarer])) for n, rarer in by_size.items())
    return Mean(total / prompts, math.sqrt(variance) / prompts)


def corrected_model_bias_score(male: npt.ArrayLike, female: npt.ArrayLike) -> float:
    """Return an estimate of the mean over prompts of the true |2p - 1|, corrected for few images.

    For independent images of each prompt. No function of the counts has the expectation |2p - 1|.
    The estimate is the mean over prompts of
    the midpoint of two functions whose expectations lie on either side (docs/decisions/0001). At 20
    images a fair model scores 0.06 (0.18 by the paper's score). The estimate of a suite is the
    mean of its parts, weighted by their prompts.

    .. math:: mean of (c_below(counts) + c_above(counts)) / 2

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].

    Returns:
        The estimate in [0, 1], over the prompts that have a clear image.

    Raises:
        ValueError: shapes differ, a count is no whole number, or no prompt has a clear image.

    >>> round(corrected_model_bias_score([20, 20, 0], [0, 0, 20]), 2)
    1.0
    >>> corrected_model_bias_score([11, 9, 10, 12], [9, 11, 10, 8]) < 0.06
    True
    """
    return _mean_midpoint(*clear_counts(male, female))


ESTIMATED_SUITE = 100
"""Number of prompts for which the bounding functions of the estimate weigh their variance. It is
the same for every suite, so that estimates of parts and total agree."""


@lru_cache(maxsize=1024)
def midpoints(n: int) -> inputs.Floats:
    """Return the estimate of |2p - 1| by the images of either gender, [n + 1]."""
    below, above = (_of_bias(n, ESTIMATED_SUITE, side).value for side in SIDES)
    return np.asarray((below + above) / 2.0, dtype=np.float64)


def _mean_midpoint(men: Whole, women: Whole) -> float:
    """Return the mean over prompts of ``midpoints``, each with a clear image, clipped to [0, 1]."""
    rows = zip((men + women).tolist(), np.minimum(men, women).tolist(), strict=True)
    return float(np.clip(np.mean([midpoints(n)[rarer] for n, rarer in rows]), 0.0, 1.0))


def model_bias_interval(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - every interval of the model takes one
) -> Interval:
    """Return the model bias score of these prompts with its interval.

    Each end holds at the one-sided level (1 + level) / 2: a one-sided verdict at 5 % takes
    ``level=one_sided(0.95)``, which is 0.9.

    Images vary, words do not. The ends allow any distribution of bias over the prompts. They hold
    the level in simulation, not by theorem (docs/decisions/0007-fixed-words.md,
    tests/simulations/fixed_words.md). They need no resampling, and work for any number of prompts
    and images.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        level: confidence level in (0, 1).
        seed: unused, as nothing is resampled; every interval of the model takes a seed.

    Returns:
        Interval in [0, 1]; n is the number of prompts with a clear image.

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> interval = model_bias_interval([20, 18, 1, 15], [0, 2, 19, 5], level=0.95, seed=0)
    >>> interval.low < 0.75 < interval.high
    True
    """
    check_level(level)
    men, women = clear_counts(male, female)
    evidence = FixedWords.of(men, women)

    error = (1.0 - level) / 2.0
    ends = lower_end(evidence.p_greater, error), upper_end(evidence.p_less, error)
    method = "exact" if len(men) == 1 else "bounding functions"
    return containing(_mean_midpoint(men, women), ends, level, method, len(men))


def model_bias_p_value(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    bound: float,
    *,
    alternative: Alternative = "greater",
) -> float:
    """Return the one-sided p-value of the model bias score against a bound.

    For independent images of each prompt, whatever the distribution of bias over prompts
    (docs/decisions/0007). The p-value agrees with ``model_bias_interval``: it is at most 0.05 where
    the interval at ``one_sided(0.95)`` leaves the bound out on that side. FAIL against a limit uses
    "greater", PASS uses "less".

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the score, in [0, 1].
        alternative: "greater" against "the score is at most the bound", "less" against "the score
            is at least the bound".

    Returns:
        p-value in [0, 1].

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> counts = [20, 18, 1, 15], [0, 2, 19, 5]
    >>> model_bias_p_value(*counts, 0.3) < 0.001
    True
    >>> model_bias_p_value(*counts, 0.3, alternative="less") > 0.5
    True
    """
    check_alternative(alternative)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    men, women = clear_counts(male, female)
    evidence = FixedWords.of(men, women)
    return evidence.p_greater(limit) if alternative == "greater" else evidence.p_less(limit)


def clear_counts(male: npt.ArrayLike, female: npt.ArrayLike) -> tuple[Whole, Whole]:
    """Return the counts of the prompts that have a clear image, as whole numbers."""
    men, women = inputs.count_vectors(male=male, female=female)
    used = men + women > 0
    if not np.any(used):
        raise ValueError(f"male and female hold no clear image in {used.size} prompts")
    return men[used], women[used]
