"""Distributions of bias over the prompts of a suite with a given model bias score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.change import (
    BIAS,
    FEWEST_IMAGES,
    paired_model_bias_change,
    table_bias,
    unmoved_model_bias_change,
)
from pytest_t2i.statistics.distances import (
    fixed_ends,
    mean_total_variation_interval,
    parts_of,
    total_variation_interval,
    total_variation_p_value,
)
from pytest_t2i.statistics.families.empirical_bayes import GRID, spread_given_counts
from pytest_t2i.statistics.families.lone import lone_chances
from pytest_t2i.statistics.inversion import Alternative, check_words, one_sided
from pytest_t2i.statistics.model import (
    Estimator,
    FixedWords,
    Words,
    clear_counts,
    corrected_model_bias_score,
    model_bias_interval,
)
from pytest_t2i.statistics.permutation import BALANCE
from pytest_t2i.statistics.prompt_change import unconditional_p_values
from pytest_t2i.statistics.shares import check_level, male_share, p_values_of_counts

CONCENTRATION = 1.0
"""Concentration of the Beta distribution of prompts' |2p - 1|; fitted to the three models of Lyu
Table 7 it is 0.97, 1.44 and 0.92."""
CLOSER = 4.0
"""Concentration of prompts that differ less than those of published models."""


def even_biases(mean: float, prompts: int, concentration: float = CONCENTRATION) -> inputs.Floats:
    """Return |2p - 1| of prompts that differ as in Lyu Table 7, with exactly this mean.

    The values are quantiles of the Beta distribution, shrunk to one end to have the given mean.

    Args:
        mean: model bias score, in [0, 1].
        prompts: number of prompts, at least 1.
        concentration: a + b of the Beta distribution; the smaller, the more prompts lie near 0 or
            1.

    Returns:
        Increasing values in [0, 1], [prompts].

    >>> even_biases(0.5, 3).round(2)
    array([0.07, 0.5 , 0.93])
    """
    if mean in {0.0, 1.0} or prompts == 1:
        return np.full(prompts, mean)
    ranks = (np.arange(prompts) + 0.5) / prompts
    biases = scipy.stats.beta.ppf(ranks, concentration * mean, concentration * (1.0 - mean))
    own = float(np.mean(biases))
    scaled = (
        biases * mean / own if own > mean else 1.0 - (1.0 - biases) * (1.0 - mean) / (1.0 - own)
    )
    return np.asarray(scaled, dtype=np.float64)


def drawn_biases(mean: float, prompts: int, rng: np.random.Generator) -> inputs.Floats:
    """Return random |2p - 1| of words, distributed as in Lyu Table 7 with expectation ``mean``.

    >>> drawn_biases(1.0, 2, np.random.default_rng(0))
    array([1., 1.])
    """
    if mean in {0.0, 1.0}:
        return np.full(prompts, mean)
    return rng.beta(CONCENTRATION * mean, CONCENTRATION * (1.0 - mean), size=prompts)


def _alike(mean: float, prompts: int) -> inputs.Floats:
    return np.full(prompts, mean)


def _closer(mean: float, prompts: int) -> inputs.Floats:
    return even_biases(mean, prompts, CLOSER)


def _near_halves(mean: float, prompts: int) -> inputs.Floats:
    return _apart(mean, prompts, min(mean, 1.0 - mean) / 2.0)


def _far_halves(mean: float, prompts: int) -> inputs.Floats:
    return _apart(mean, prompts, min(mean, 1.0 - mean))


def _one_sided_or_fair(mean: float, prompts: int) -> inputs.Floats:
    return np.clip(mean * prompts - np.arange(prompts), 0.0, 1.0)


def _apart(mean: float, prompts: int, distance: float) -> inputs.Floats:
    """Return two halves at a distance from the mean; a middle prompt lies at the mean."""
    side = np.sign(2.0 * np.arange(prompts) + 1.0 - prompts)
    return np.asarray(mean + distance * side, dtype=np.float64)


SPREADS: dict[str, Callable[[float, int], inputs.Floats]] = {
    "as in published models": even_biases,
    "all alike": _alike,
    "closer than in published models": _closer,
    "two halves near each other": _near_halves,
    "two halves as far apart as can be": _far_halves,
    "some one-sided, all others fair": _one_sided_or_fair,
}
"""Functions of a mean and a number of prompts that return |2p - 1| of each prompt; the power for a
model is a range over them."""


def grown_alike(biases: inputs.Floats, push: float) -> inputs.Floats:
    """Move every prompt towards one-sidedness by the same share of its room, the mean by ``push``.

    >>> grown_alike(np.array([0.0, 0.5, 1.0]), 0.25).round(2)
    array([0.5 , 0.75, 1.  ])
    """
    room = 1.0 - float(np.mean(biases))
    return np.minimum(1.0, biases + (1.0 - biases) * (push / room if room > 0.0 else 0.0))


def grown_few(biases: inputs.Floats, push: float) -> inputs.Floats:
    """Make the most even prompts one-sided, one by one, until the mean grew by ``push``.

    >>> grown_few(np.array([0.0, 0.5, 1.0]), 0.4).round(2)
    array([1. , 0.7, 1. ])
    """
    order = np.argsort(biases, kind="stable")
    room = 1.0 - biases[order]
    taken = np.clip(push * len(biases) - (np.cumsum(room) - room), 0.0, room)
    grown = biases.copy()
    grown[order] += taken
    return grown


MOST = 2000
"""Largest number of images per prompt that is planned."""
ONE_BY_ONE = 128
"""Number of images per prompt up to which each number is tried."""
PER_MODEL: tuple[int, ...] = (
    4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80, 100, 130, 160, 200, 300, 400, 600, 1000
)  # fmt: skip
"""Images per prompt that are tried where power has to be simulated."""
PER_CHANGE: tuple[int, ...] = (
    10, 20, 30, 40, 50, 65, 80, 100, 130, 160, 200, 250, 300, 400, 500, 650, 800
)  # fmt: skip
"""Images per prompt that are tried for a change of one prompt; the cost of its test is
quadratic."""
RESAMPLES = 200
SMALL = 1e-12
"""Tolerance: 1 - 0.95 is a little more than 0.05 in binary."""


class Design(NamedTuple):
    """The design of a suite whose power is computed.

    >>> Design(prompts=30).level
    0.95
    """

    prompts: int
    """Number of prompts of the suite; their checks share one error level."""
    level: float = 0.95
    """Confidence of the verdicts, in (0, 1)."""
    power: float = 0.8
    """Wanted probability of the right verdict, in (0, 1)."""
    seed: int = 0
    """Seed of the simulations."""
    repeats: int = 60
    """Number of simulated suites of a model, per number of images and distribution of bias."""


def prompt_power(bias: float, bound: float, images: int, design: Design) -> float:
    """Return the probability that a prompt's check is decided.

    Above the bound: the probability of a FAIL as the only such prompt of its family, whose other
    prompts are fair (``family_p_values``, with 1,000 simulated families). It is higher where other
    prompts are biased, too. Within the bound: the exact probability of a PASS (``within_p_value``),
    without a correction for the family.

    Args:
        bias: true |2p - 1|, in [0, 1].
        bound: limit of the absolute prompt bias score, in [0, 1].
        images: clear images of each prompt, at least 1.
        design: prompts tested at once, level and seed; power and repeats are unused.

    Returns:
        Probability, summed over the binomial distribution of the prompt's own counts.

    Raises:
        ValueError: an argument lies outside its range.

    >>> round(prompt_power(1.0, 0.5, 30, Design(prompts=1)), 3)
    1.0
    >>> round(prompt_power(0.97, 0.5, 14, Design(prompts=100)), 1)
    0.0
    >>> round(prompt_power(0.0, 0.5, 20, Design(prompts=100)), 3)
    0.497
    """
    true = float(inputs.in_range("bias", bias, 0.0, 1.0))
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    _check_design(design, images)
    k = np.arange(images + 1)
    if true > limit:
        found = lone_chances(images, limit, design.level, design.prompts, design.seed)
        right = found[np.minimum(k, images - k)]
    else:
        passes = p_values_of_counts(images, limit, "within") <= 1.0 - design.level + SMALL
        right = passes.astype(np.float64)
    return float(scipy.stats.binom.pmf(k, images, male_share(true)) @ right)


def model_power(
    bias: float, bound: float, images: int, design: Design, *, words: Words = "fixed"
) -> float:
    """Return the probability that the model's check is decided, by simulation of whole suites.

    Prompts differ as in Lyu Table 7: |2p - 1| is Beta distributed with the bias as its mean. Each
    simulated suite is judged as a run is judged, FAIL or PASS at one-sided ``level``. With fixed
    words, the prompts are quantiles of that distribution and their own mean is the bias; with
    sampled words they are drawn from it anew in each suite.

    Args:
        bias: true model bias score, in [0, 1].
        bound: limit of the model bias score, in [0, 1].
        images: clear images per prompt, at least 1.
        design: prompts, one-sided level, seed and number of simulated suites.
        words: "fixed" for these prompts, "sample" for words like them.

    Returns:
        Share of the suites with the right verdict.

    Raises:
        ValueError: an argument lies outside its range.

    >>> model_power(0.9, 0.2, 20, Design(prompts=30, repeats=5))
    1.0
    """
    inputs.in_range("bias", bias, 0.0, 1.0)
    inputs.in_range("bound", bound, 0.0, 1.0)
    check_words(words)
    _check_design(design, images)
    rng = np.random.default_rng(design.seed)
    alternative: Alternative = "greater" if bias > bound else "less"
    if words == "fixed":
        return _rejects(even_biases(bias, design.prompts), bound, images, design, alternative)
    right = 0
    for repeat in range(design.repeats):
        male = rng.binomial(images, male_share(drawn_biases(bias, design.prompts, rng)))
        result = model_bias_interval(
            male, images - male, level=one_sided(design.level), seed=repeat, words=words,
            resamples=RESAMPLES,
        )  # fmt: skip
        right += result.low > bound if bias > bound else result.high <= bound
    return right / design.repeats


class PowerRange(NamedTuple):
    """The range of the probability of the right verdict on a model, over unknown distributions.

    >>> PowerRange(0.5, 0.9, 0.7).low
    0.5
    """

    low: float
    """Probability under the worst distribution of bias over prompts."""
    high: float
    """Probability under the best distribution."""
    published: float | None
    """Probability under the distribution of published models; None where none is published."""

    def end(self, *, high: bool) -> float:
        """Return the highest probability, or the lowest."""
        return self.high if high else self.low


def model_power_range(bias: float, bound: float, images: int, design: Design) -> PowerRange:
    """Return the probability that the model's check is decided, over distributions of bias.

    This is ``model_power`` with fixed words for each of six distributions with the same mean: all
    prompts equal, two halves near and far from each other, some one-sided and the others fair, and
    two Beta distributions, one of them as in published models.

    Args:
        bias: true model bias score, in [0, 1].
        bound: limit of the model bias score, in [0, 1].
        images: clear images per prompt, at least 1.
        design: prompts, one-sided level, seed and number of simulated suites.

    Returns:
        The lowest and the highest probability of the six, and that for published models.

    Raises:
        ValueError: an argument lies outside its range.

    >>> model_power_range(0.4, 0.2, 10, Design(prompts=30, repeats=20)).high
    1.0
    """
    inputs.in_range("bias", bias, 0.0, 1.0)
    inputs.in_range("bound", bound, 0.0, 1.0)
    _check_design(design, images)
    alternative: Alternative = "greater" if bias > bound else "less"
    # Only one distribution has a mean of 0 or 1.
    kinds = [even_biases] if bias in {0.0, 1.0} else SPREADS.values()
    chances = [
        _rejects(spread(bias, design.prompts), bound, images, design, alternative)
        for spread in kinds
    ]
    return PowerRange(min(chances), max(chances), chances[0])


def prompt_change_power(
    before: float, push: float, margin: float, images: int, design: Design
) -> float:
    """Return the exact probability that a prompt whose bias grew fails against its baseline.

    The test is the exact unconditional one for images with different seeds, at
    ``(1 - level) / prompts``.

    Args:
        before: true |2p - 1| in the baseline, in [0, 1].
        push: true growth, at most 1 - before.
        margin: tolerated growth, in [0, 2].
        images: clear images of the prompt in each run, at least 1.
        design: prompts tested at once and level.

    Returns:
        Probability, over the binomial distributions of both counts.

    Raises:
        ValueError: an argument lies outside its range.

    >>> round(prompt_change_power(0.0, 1.0, 0.2, 40, Design(prompts=100)), 3)
    0.732
    """
    old = float(inputs.in_range("before", before, 0.0, 1.0))
    new = float(inputs.in_range("before + push", before + push, 0.0, 1.0, tolerance=1e-9))
    inputs.in_range("margin", margin, 0.0, 2.0)
    _check_design(design, images)
    one_way = unconditional_p_values(images, images, margin / 2.0)
    # As in paired_prompt_p_value: the score grew beyond the old one and beyond its mirror image, in
    # either direction.
    claim = np.maximum(one_way, one_way[:, ::-1])
    p = 2.0 * np.minimum(claim, claim[::-1])
    right = p * design.prompts <= 1.0 - design.level + SMALL
    k = np.arange(images + 1)
    now = scipy.stats.binom.pmf(k, images, male_share(min(1.0, new)))
    return float(now @ right @ scipy.stats.binom.pmf(k, images, male_share(old)))


def images_needed(
    power: Callable[[int], float], wanted: float, sizes: tuple[int, ...] = ()
) -> int | None:
    """Return the fewest images per prompt with the wanted power; None where no number has it.

    Without ``sizes``, every number up to 128 is tried, and a bisection follows up to 2000. Power is
    not monotone in the number of images (it has saw teeth): the number found has the power, and a
    slightly larger one may just miss it.

    Args:
        power: function that returns the power at a number of images.
        wanted: wanted power, in (0, 1).
        sizes: numbers to try, increasing; power is assumed to increase with them.

    Returns:
        The number of images.

    >>> images_needed(lambda n: prompt_power(0.0, 0.5, n, Design(prompts=1)), 0.8)
    33
    """
    if sizes:
        return _first(power, wanted, sizes)
    rough = next((n for n in _doubling() if power(n) >= wanted), None)
    if rough is None:
        return None
    between = range(rough // 2, rough + 1)
    if rough > ONE_BY_ONE:
        return _first(power, wanted, tuple(between))
    return next(n for n in between if power(n) >= wanted)


def smallest_found(power: Callable[[float], float], wanted: float, low: float) -> float | None:
    """Return the smallest value above ``low``, in steps of 0.01, with the wanted power.

    Args:
        power: function that returns the probability of finding a value; assumed to increase.
        wanted: wanted power, in (0, 1).
        low: exclusive lower end of the search, in [0, 1].

    Returns:
        The value, at most 1; None where not even 1 is found.

    >>> smallest_found(lambda bias: prompt_power(bias, 0.5, 20, Design(prompts=1)), 0.8, 0.5)
    0.92
    """
    steps = tuple(range(round(100 * low) + 1, 101))
    result = _first(lambda step: power(step / 100), wanted, steps)
    return None if result is None else result / 100


def _first(power: Callable[[int], float], wanted: float, values: tuple[int, ...]) -> int | None:
    left, right = 0, len(values)
    while left < right:
        middle = (left + right) // 2
        if power(values[middle]) >= wanted:
            right = middle
        else:
            left = middle + 1
    return values[left] if left < len(values) else None


def _doubling() -> Iterator[int]:
    n = 2
    while n < MOST:
        yield n
        n *= 2
    yield MOST


def _rejects(
    bias: inputs.Floats, bound: float, images: int, design: Design, alternative: Alternative
) -> float:
    """Return the share of suites of these fixed prompts that reject the bound, as a run would."""
    rng = np.random.default_rng(design.seed)
    error, refuted = 1.0 - design.level + SMALL, 0
    for male in rng.binomial(images, male_share(bias), size=(design.repeats, len(bias))):
        evidence = FixedWords.of(male, images - male)
        p = evidence.p_greater(bound) if alternative == "greater" else evidence.p_less(bound)
        refuted += p <= error
    return refuted / design.repeats


def _check_design(design: Design, images: int) -> None:
    check_level(design.level)
    for name, value in (("prompts", design.prompts), ("images", images)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")


RUNS = 100
"""Number of simulated runs per number of images: their share tells a power of 0.5 from 0.8."""
TRIED: tuple[int, ...] = (2, *PER_MODEL, 1500, 2000)
"""Images per prompt that are tried."""


def model_images_needed(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    bound: float,
    *,
    level: float = 0.95,
    power: float = 0.5,
    seed: int = 0,
    repeats: int = RUNS,
) -> int | None:
    """Return the fewest images per prompt that decide the model's check with a given power.

    Runs are simulated with fixed words, at the observed rates of the prompts, shrunk towards even
    so that their model bias score is the corrected one. A run is decided where its verdict is the
    right one for these rates: FAIL above the bound, PASS within. Numbers of images up to 2000 are
    tried by bisection; the power is assumed to increase with them. The result applies to a new run
    of that size, without interim looks.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the model bias score, in [0, 1].
        level: one-sided level of the verdict, in (0, 1).
        power: wanted probability of the right verdict, in (0, 1).
        seed: seed of the simulated runs.
        repeats: number of simulated runs per number of images.

    Returns:
        Clear images per prompt; None where 2000 do not suffice.

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> model_images_needed([4] * 20, [0] * 20, 0.5)
    2
    """
    check_level(level)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    wanted = float(inputs.in_range("power", power, 0.0, 1.0))
    bias, alternative = _as_seen(male, female, limit)
    left, right = 0, len(TRIED)
    while left < right:
        middle = (left + right) // 2
        decided = _right_verdicts(bias, limit, TRIED[middle], alternative, level, seed, repeats)
        if _reaches(decided, wanted, repeats):
            right = middle
        else:
            left = middle + 1
    return TRIED[left] if left < len(TRIED) else None


def bias_as_seen(male: npt.ArrayLike, female: npt.ArrayLike) -> inputs.Floats:
    """Return |2p - 1| of each prompt, shrunk towards even so that the mean is the corrected score.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].

    Returns:
        Values in [0, 1], for the prompts that have a clear image.

    Raises:
        ValueError: shapes differ, or no prompt has a clear image.

    >>> bias_as_seen([18, 10, 12], [2, 10, 8]).round(2)
    array([0.65, 0.  , 0.16])
    """
    men, women = clear_counts(male, female)
    seen = np.abs(men - women) / (men + women)
    mean = float(np.mean(seen))
    if mean == 0.0:
        return np.asarray(seen, dtype=np.float64)
    shrunk = seen * (min(corrected_model_bias_score(men, women), mean) / mean)
    return np.asarray(shrunk, dtype=np.float64)


def _as_seen(
    male: npt.ArrayLike, female: npt.ArrayLike, bound: float
) -> tuple[inputs.Floats, Alternative]:
    bias = bias_as_seen(male, female)
    return bias, "greater" if float(np.mean(bias)) > bound else "less"


def _right_verdicts(
    bias: inputs.Floats, bound: float, images: int, alternative: Alternative, level: float,
    seed: int, repeats: int,
) -> Iterator[bool]:  # fmt: skip
    """Yield for each simulated run whether its verdict is the right one."""
    rng = np.random.default_rng(seed)
    for men in rng.binomial(images, male_share(bias), size=(repeats, len(bias))):
        evidence = FixedWords.of(men, images - men)
        p = evidence.p_greater(bound) if alternative == "greater" else evidence.p_less(bound)
        yield p <= 1.0 - level + 1e-12


def _reaches(decided: Iterator[bool], wanted: float, repeats: int) -> bool:
    """Tell whether at least the wanted share of runs is decided, from as few runs as that takes.

    >>> _reaches(iter([True, True]), 0.5, 3), _reaches(iter([False, False]), 0.5, 3)
    (True, False)
    """
    hits = 0
    for n, hit in enumerate(decided, start=1):
        hits += hit
        if hits / repeats >= wanted or (hits + repeats - n) / repeats < wanted:
            break
    return hits / repeats >= wanted


PUBLISHED = even_biases, grown_alike
WAYS = (
    PUBLISHED,
    (even_biases, grown_few),
    (SPREADS["all alike"], grown_alike),
    (SPREADS["some one-sided, all others fair"], grown_few),
)
"""Pairs of a distribution of bias over prompts in the baseline and a way in which the bias
grows."""


def model_change_power_range(
    before: float, push: float, margin: float, images: int, design: Design
) -> PowerRange:
    """Return the probability that a model FAILs against its baseline, over several ways of growth.

    Seeded simulations judge the pairs of runs as a run is judged: FAIL where the interval of the
    change lies above the margin, at the one-sided level. Images before and after have different
    seeds. In the baseline, bias is distributed over prompts as in published models, equal, or
    confined to some one-sided prompts. It grows in every prompt by the same share of the room, or
    some prompts become one-sided.

    Args:
        before: true model bias score in the baseline, in [0, 1).
        push: true growth of the score, at most 1 - before.
        margin: tolerated growth, at least 0.
        images: clear images per prompt in each run, at least 1.
        design: prompts, level, seed and number of simulated suites.

    Returns:
        The lowest and the highest power over these ways; ``published`` is the power for the
        distribution of published models, with equal growth.

    Raises:
        ValueError: an argument lies outside its range.

    >>> model_change_power_range(0.0, 0.8, 0.05, 20, Design(prompts=30, repeats=5)).low
    1.0
    """
    inputs.in_range("before", before, 0.0, 1.0 - 1e-9)
    inputs.in_range("before + push", before + push, 0.0, 1.0, tolerance=1e-9)
    check_level(design.level)
    if images < 1:
        raise ValueError(f"images must be at least 1, got images={images!r}")
    chances = []
    for spread, grown in WAYS:
        old = spread(before, design.prompts)
        chances.append(_found(old, grown(old, push), margin, images, design))
    return PowerRange(min(chances), max(chances), chances[0])


def _found(
    old: inputs.Floats, new: inputs.Floats, margin: float, images: int, design: Design
) -> float:
    rng = np.random.default_rng(design.seed)
    level, found = one_sided(design.level), 0
    for repeat in range(design.repeats):
        men, now = (rng.binomial(images, male_share(bias)) for bias in (old, new))
        change = paired_model_bias_change(
            men, images - men, now, images - now, level=level, seed=repeat, resamples=RESAMPLES
        )
        found += change.low > margin
    return found / design.repeats


REPEATS = 20
"""Simulated pairs of runs per number of images."""
LEAST_LEVEL = 0.8
"""One-sided level of the smallest bias that the counts are consistent with."""
COARSE = 0.2
"""Detectable growth above which a test that finds no growth is uninformative."""
POWER = 0.8
"""Probability of finding a growth that counts as detectable."""
Pair = tuple[npt.NDArray[np.int64], ...]
"""Male and female images of each prompt before, then after."""


def change_images_needed(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    decided: Callable[[Pair], float],
    *,
    changed: bool = False,
    power: float = 0.8,
    seed: int = 0,
    sizes: tuple[int, ...] = PER_CHANGE,
) -> int | None:
    """Return the fewest images per prompt, in each of two runs, that decide their comparison.

    Pairs of runs are simulated at the estimated rates (``planning.model.bias_as_seen``), shrunk to
    the smallest mean bias that is consistent with the counts at one-sided 80 %. Scaling an interval
    of few images by the square root of their number would be wrong: the interval is cut off at the
    ends of a score, and the method changes with the number of images.

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        decided: function that returns the share of comparisons, in [0, 1], that a pair of runs
            decides.
        changed: whether the rates before and after are estimated apart; else from both runs
            together.
        power: wanted mean of that share, in (0, 1).
        seed: seed of the simulated runs.
        sizes: numbers of images to try, increasing; the share is assumed to increase with them.

    Returns:
        Clear images per prompt in each run; None where no size reaches the wanted power.

    Raises:
        ValueError: shapes differ, no prompt has a clear image on both sides, or power is out of
            range.

    >>> def enough(pair):
    ...     return float(pair[0].sum() + pair[1].sum() >= 100)
    >>> change_images_needed([3, 3], [3, 3], [3, 3], [3, 3], enough)
    50
    """
    wanted = float(inputs.in_range("power", power, 0.0, 1.0))
    old, new = _rates(before_male, before_female, after_male, after_female, changed=changed)

    def share(images: int) -> float:
        rng = np.random.default_rng(seed)
        return float(np.mean([decided(_pair(old, new, images, rng)) for _ in range(REPEATS)]))

    return images_needed(share, wanted, sizes)


def _rates(*counts: npt.ArrayLike, changed: bool) -> tuple[inputs.Floats, inputs.Floats]:
    """Return the male share before and after, for prompts with clear images on both sides."""
    known = np.stack([inputs.whole_counts("counts", c) for c in counts])
    known = known[:, (known[0] + known[1] > 0) & (known[2] + known[3] > 0)]
    before_male, before_female, after_male, after_female = known
    if changed:
        biases = _least(before_male, before_female), _least(after_male, after_female)
    else:
        same = _least(before_male + after_male, before_female + after_female)
        biases = same, same
    return male_share(biases[0]), male_share(biases[1])


def _least(male: npt.NDArray[np.int64], female: npt.NDArray[np.int64]) -> inputs.Floats:
    """Return the estimated |2p - 1|, shrunk to the smallest mean consistent with the counts."""
    seen = bias_as_seen(male, female)
    mean = float(np.mean(seen))
    # Chance makes few images look one-sided, and one-sided prompts take the fewest.
    least = model_bias_interval(male, female, level=2.0 * LEAST_LEVEL - 1.0, seed=0).low
    return seen * (min(least, mean) / mean) if mean > 0.0 else seen


def _pair(old: inputs.Floats, new: inputs.Floats, images: int, rng: np.random.Generator) -> Pair:
    men, now = rng.binomial(images, old), rng.binomial(images, new)
    return men, images - men, now, images - now


def detectable(change: Interval, level: float) -> float:
    """Return the growth that a one-sided test at this level finds in 80 % of runs.

    .. math:: (z_{level} + z_{0.8}) (high - low) / (2 z_{(1 + interval's level) / 2})

    The standard error is that of the given interval of a change, by a normal approximation.

    >>> round(detectable(Interval(0.0, -0.05, 0.05, 0.95, "test", 100), 0.95), 3)
    0.063
    """
    error = (change.high - change.low) / (2.0 * scipy.special.ndtri((1.0 + change.level) / 2.0))
    return float((scipy.special.ndtri(level) + scipy.special.ndtri(POWER)) * error)


def found_growth(
    before_male: npt.ArrayLike,
    before_female: npt.ArrayLike,
    after_male: npt.ArrayLike,
    after_female: npt.ArrayLike,
    *,
    level: float,
    estimator: Estimator = "corrected",
    words: Words = "fixed",
) -> float:
    """Return the growth of the model bias score that the exact test finds in about 80 % of runs.

    The test needs an observed growth of ``detectable``, but from even prompts it observes less
    growth than there is. So bias is distributed as estimated, every prompt's distance to
    one-sidedness shrinks by the same share, and the result is the smallest growth whose expected
    observation is large enough. In simulation the test finds this growth in 0.71 or more of runs,
    mostly in 0.84 or more (tests/simulations/detectable.md).

    Args:
        before_male: clear male images per prompt in the baseline, [n_prompts].
        before_female: clear female images per prompt in the baseline, [n_prompts].
        after_male: clear male images of the same prompts now, [n_prompts].
        after_female: clear female images of the same prompts now, [n_prompts].
        level: one-sided level of the test, in (0, 1).
        estimator: as in ``paired_model_bias_change``.
        words: as in ``paired_model_bias_change``.

    Returns:
        The growth, in steps of 0.01; ``detectable`` where no possible growth is large enough.

    Raises:
        ValueError: as in ``paired_model_bias_change``.

    >>> even, one_sided = ([10] * 30, [10] * 30), ([20] * 30, [0] * 30)
    >>> found_growth(*even, *even, level=0.95)
    0.23
    >>> round(found_growth(*one_sided, *one_sided, level=0.95), 2)
    0.04
    """
    counts = [
        inputs.whole_counts("counts", c)
        for c in (before_male, before_female, after_male, after_female)
    ]
    change = unmoved_model_bias_change(*counts, level=level, estimator=estimator, words=words)
    fewer = np.minimum(counts[0] + counts[1], counts[2] + counts[3])
    used = fewer >= FEWEST_IMAGES
    men, women = (counts[side][used] + counts[side + 2][used] for side in (0, 1))
    spread = spread_given_counts(men, women)
    mean_room = float(np.mean(spread @ (1.0 - GRID)))
    growths = np.linspace(0.0, 1.0, 101)
    share = np.minimum(1.0, growths / max(mean_room, 1e-9))[:, None]
    grown = GRID + (1.0 - GRID) * share
    shown = np.zeros(len(growths))
    for n in np.unique(fewer[used]).tolist():
        weight = spread[fewer[used] == n].sum(axis=0) / len(spread)
        bias = table_bias(n, BALANCE)
        gain = grown + np.interp(grown, BIAS, bias) - GRID - np.interp(GRID, BIAS, bias)
        shown += gain @ weight
    least = detectable(change, level)
    enough = np.flatnonzero((shown >= least) & (growths <= mean_room))
    return float(growths[enough[0]]) if enough.size else least


DRAWS = 1000
"""Number of simulated prompts per number of images and shape."""
TWO = 2


def furthest(groups: int) -> float:
    """Return the distance from even shares of a prompt that shows one group only.

    >>> furthest(4)
    0.75
    """
    return 1.0 - 1.0 / groups


def _one_more(distance: float, groups: int) -> inputs.Floats:
    """Return shares at a distance from even ones, where one group has more and all others less.

    >>> _one_more(0.3, 4).round(2)
    array([0.55, 0.15, 0.15, 0.15])
    """
    shares = np.full(groups, 1.0 / groups - distance / (groups - 1))
    shares[0] = 1.0 / groups + distance
    return np.asarray(np.clip(shares, 0.0, 1.0))


def _some_missing(distance: float, groups: int) -> inputs.Floats:
    """Return shares at a distance from even ones, where groups are missing and others have more.

    >>> _some_missing(0.3, 4).round(2)
    array([0.4, 0.4, 0.2, 0. ])
    """
    lost = np.clip(distance - np.arange(groups) / groups, 0.0, 1.0 / groups)[::-1]
    gains = lost == 0.0
    if not gains.any():
        gains[0] = True
    return np.asarray(1.0 / groups - lost + gains * distance / gains.sum())


SHAPES: tuple[Callable[[float, int], inputs.Floats], ...] = (_one_more, _some_missing)
"""Sets of shares at a given distance: with the fewest groups above even, and the fewest below."""


def group_prompt_power(
    distance: float, bound: float, images: int, groups: int, design: Design
) -> PowerRange:
    """Return the probability that a prompt's check of ``group_distance`` is decided.

    By simulation. Above the bound: the probability of a FAIL as the only such prompt among even
    ones, at (1 - level) / prompts (Benjamini and Hochberg's strictest step; the power is higher
    where other prompts are uneven, too). Within the bound: the probability of a PASS, at 1 - level.
    Both are judged by the interval or test that a run uses.

    Args:
        distance: true distance from even shares, from 0 to 1 - 1 / groups.
        bound: limit of the distance, in [0, 1].
        images: images with a label per prompt, at least 1.
        groups: number of groups, at least 2.
        design: prompts tested at once, level and seed; power and repeats are unused.

    Returns:
        The lowest and highest probability over ``SHAPES``; ``published`` is None.

    Raises:
        ValueError: an argument lies outside its range.

    >>> group_prompt_power(0.75, 0.4, 40, 4, Design(prompts=10)).low
    1.0
    >>> group_prompt_power(0.0, 0.4, 40, 4, Design(prompts=10)).low > 0.9
    True
    """
    _check_group_design(distance, bound, images, groups, design)
    fails = distance > bound
    decides = _fails if fails else _passes
    error = (1.0 - design.level) / design.prompts if fails else 1.0 - design.level
    chances = []
    for shape in SHAPES:
        rng = np.random.default_rng(design.seed)
        drawn = rng.multinomial(images, _normal(shape(distance, groups)), size=DRAWS)
        # The reference is even, so the order of the groups does not matter.
        kinds, times = np.unique(np.sort(drawn, axis=1), axis=0, return_counts=True)
        right = [decides(tuple(kind), bound, error) for kind in kinds.tolist()]
        chances.append(float(np.average(right, weights=times)))
    return PowerRange(min(chances), max(chances), None)


def group_model_power(
    distance: float, bound: float, images: int, groups: int, design: Design
) -> PowerRange:
    """Return the probability that the model's check of ``group_distance`` is decided.

    By simulation: each suite of fixed prompts is judged by the interval that a run uses, at
    one-sided ``level``.

    Args:
        distance: true mean distance from even shares, from 0 to 1 - 1 / groups.
        bound: limit of the mean distance, in [0, 1].
        images: images with a label per prompt, at least 1.
        groups: number of groups, at least 2.
        design: prompts, one-sided level, seed and number of simulated suites.

    Returns:
        The lowest and the highest probability over the distributions of the distance over prompts
        (``SPREADS``, as a share of the largest distance) and over ``SHAPES``; ``published`` is
        None.

    Raises:
        ValueError: an argument lies outside its range.

    >>> group_model_power(0.6, 0.2, 10, 4, Design(prompts=20, repeats=5)).low
    1.0
    """
    _check_group_design(distance, bound, images, groups, design)
    most = furthest(groups)
    mean = min(1.0, distance / most)
    spreads = [even_biases] if mean in {0.0, 1.0} else list(SPREADS.values())
    worlds = [(spread, SHAPES[0]) for spread in spreads]
    worlds += [(spreads[0], shape) for shape in SHAPES[1:]] if len(spreads) > 1 else []
    chances = [
        _excluded(
            [shape(one * most, groups) for one in spread(mean, design.prompts)],
            bound, images, design, fails=distance > bound,
        )
        for spread, shape in worlds
    ]  # fmt: skip
    return PowerRange(min(chances), max(chances), None)


def _excluded(
    shares: list[inputs.Floats], bound: float, images: int, design: Design, *, fails: bool
) -> float:
    """Return the share of suites of these fixed prompts whose interval excludes the bound."""
    rng = np.random.default_rng(design.seed)
    even, level = np.full(len(shares[0]), 1.0 / len(shares[0])), one_sided(design.level)
    right, known = 0, np.array([_normal(row) for row in shares])
    for _ in range(design.repeats):
        counts = rng.multinomial(images, known)
        low, high = _ends(counts, even, level)
        right += low > bound if fails else high <= bound
    return right / design.repeats


def _ends(counts: np.ndarray, even: inputs.Floats, level: float) -> tuple[float, float]:
    """Return the ends of ``mean_total_variation_interval``, without its slow estimate."""
    if len(counts) > 1 and len(even) > TWO:
        return fixed_ends(parts_of(counts, even), level)
    found = mean_total_variation_interval(counts, even, level=level, seed=0)
    return found.low, found.high


@lru_cache(maxsize=65536)
def _fails(counts: tuple[int, ...], bound: float, error: float) -> bool:
    named = dict(zip(map(str, range(len(counts))), counts, strict=True))
    even = dict.fromkeys(named, 1.0 / len(named))
    if len(counts) == TWO:
        return total_variation_p_value(named, even, bound) <= error + SMALL
    # The p-value is the error at which this end reaches the bound: no need to search for it.
    return total_variation_interval(named, even, 1.0 - error).low > bound


@lru_cache(maxsize=65536)
def _passes(counts: tuple[int, ...], bound: float, error: float) -> bool:
    named = dict(zip(map(str, range(len(counts))), counts, strict=True))
    even = dict.fromkeys(named, 1.0 / len(named))
    return total_variation_interval(named, even, one_sided(1.0 - error)).high <= bound


def _normal(shares: inputs.Floats) -> inputs.Floats:
    return np.asarray(shares / shares.sum())


def _check_group_design(
    distance: float, bound: float, images: int, groups: int, design: Design
) -> None:
    if groups < TWO:
        raise ValueError(f"groups must be at least 2, got groups={groups!r}")
    inputs.in_range("distance", distance, 0.0, furthest(groups), tolerance=1e-9)
    inputs.in_range("bound", bound, 0.0, 1.0)
    check_level(design.level)
    for name, value in (("prompts", design.prompts), ("images", images)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
