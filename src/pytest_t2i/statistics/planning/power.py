"""Power of the verdicts on prompts and on a model, and the number of images that reaches a power.

Power is the probability that a verdict is reached and right: PASS where the true score lies within
the limit, FAIL where it lies beyond.

Over 300 lines: the power of each verdict stands beside that of its change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.prompt_test import unconditional_p_values
from pytest_t2i.statistics.families.lone import lone_chances
from pytest_t2i.statistics.model.bias import model_bias_interval
from pytest_t2i.statistics.model.fixed_words import FixedWords, Words
from pytest_t2i.statistics.planning.spreads import SPREADS, drawn_biases, even_biases
from pytest_t2i.statistics.shares.exact import p_values_of_counts
from pytest_t2i.statistics.shares.intervals import check_level, male_share
from pytest_t2i.statistics.shares.inversion import Alternative, check_words, one_sided

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
    _check(design, images)
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
    _check(design, images)
    rng = np.random.default_rng(design.seed)
    alternative: Alternative = "greater" if bias > bound else "less"
    if words == "fixed":
        return _decided(even_biases(bias, design.prompts), bound, images, design, alternative)
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
    _check(design, images)
    alternative: Alternative = "greater" if bias > bound else "less"
    # Only one distribution has a mean of 0 or 1.
    kinds = [even_biases] if bias in {0.0, 1.0} else SPREADS.values()
    chances = [
        _decided(spread(bias, design.prompts), bound, images, design, alternative)
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
    _check(design, images)
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


def _decided(
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


def _check(design: Design, images: int) -> None:
    check_level(design.level)
    for name, value in (("prompts", design.prompts), ("images", images)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
