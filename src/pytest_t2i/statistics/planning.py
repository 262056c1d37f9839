"""Power of verdicts, and the number of images that reaches a power, by simulation of the judge.

Power is the probability that a verdict is reached and right: PASS where the true score lies within
the limit, FAIL where it lies beyond. Prompts are drawn at a true score, as the distributions and
shapes below spread it, and judged by the functions that judge a run.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.change import (
    paired_model_bias_change,
    unconditional_p_values,
)
from pytest_t2i.statistics.families import lone_chances
from pytest_t2i.statistics.inversion import Alternative, one_sided
from pytest_t2i.statistics.model import (
    FixedWords,
    clear_counts,
    corrected_model_bias_score,
    model_bias_interval,
)
from pytest_t2i.statistics.shares import check_level, male_share, p_values_of_counts

World = TypeVar("World")

CONCENTRATION = 1.0
"""Concentration of the Beta distribution of prompts' |2p - 1|; fitted to the three models of Lyu
Table 7 it is 0.97, 1.44 and 0.92."""
CLOSER = 4.0
"""Concentration of prompts that differ less than those of published models."""


def even_biases(mean: float, prompts: int, concentration: float = CONCENTRATION) -> inputs.Floats:
    """Return |2p - 1| of prompts as Beta quantiles, shrunk to one end to have exactly this mean."""
    if mean in {0.0, 1.0} or prompts == 1:
        return np.full(prompts, mean)
    ranks = (np.arange(prompts) + 0.5) / prompts
    biases = scipy.stats.beta.ppf(ranks, concentration * mean, concentration * (1.0 - mean))
    quantile_mean = float(np.mean(biases))
    scaled = (
        biases * mean / quantile_mean
        if quantile_mean > mean
        else 1.0 - (1.0 - biases) * (1.0 - mean) / (1.0 - quantile_mean)
    )
    return np.asarray(scaled, dtype=np.float64)


def _apart(mean: float, prompts: int, distance: float) -> inputs.Floats:
    """Return two halves at a distance from the mean; a middle prompt lies at the mean."""
    side = np.sign(2.0 * np.arange(prompts) + 1.0 - prompts)
    return np.asarray(mean + distance * side, dtype=np.float64)


SPREADS: dict[str, Callable[[float, int], inputs.Floats]] = {
    "as in published models": even_biases,
    "all alike": lambda mean, prompts: np.full(prompts, mean),
    "closer than in published models": lambda mean, prompts: even_biases(mean, prompts, CLOSER),
    "two halves near each other": lambda mean, prompts: _apart(
        mean, prompts, min(mean, 1.0 - mean) / 2.0
    ),
    "two halves as far apart as can be": lambda mean, prompts: _apart(
        mean, prompts, min(mean, 1.0 - mean)
    ),
    "some one-sided, all others fair": lambda mean, prompts: np.clip(
        mean * prompts - np.arange(prompts), 0.0, 1.0
    ),
}
"""Functions of a mean and a number of prompts that return |2p - 1| of each prompt; the power for a
model is the smallest over them."""


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
TRIED: tuple[int, ...] = (2, *PER_MODEL, 1500, 2000)
"""Images per prompt that are tried at the rates of a run."""
RUNS, PAIRS = 100, 20
"""Simulated runs, and pairs of runs."""
LEAST_LEVEL = 0.8
"""One-sided level of the smallest bias that the counts are consistent with."""
TWO = 2
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
    prompts are biased, too. Within the bound: the exact probability of a PASS,
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
    _check(design, images, bias=bias, bound=bound)
    true, limit = float(bias), float(bound)
    k = np.arange(images + 1)
    if true > limit:
        fails = lone_chances(images, limit, design.level, design.prompts, design.seed)
        right = fails[np.minimum(k, images - k)]
    else:
        passes = p_values_of_counts(images, limit, "within") <= 1.0 - design.level + SMALL
        right = passes.astype(np.float64)
    return float(scipy.stats.binom.pmf(k, images, male_share(true)) @ right)


def model_power(bias: float, bound: float, images: int, design: Design) -> float:
    """Return the probability that the model's check is decided, by simulation of whole suites.

    It is the smallest over distributions of |2p - 1| with this mean, as bias is spread over prompts
    in ways that nobody knows.
    """
    _check(design, images, bias=bias, bound=bound)
    # Only one distribution has a mean of 0 or 1.
    spreads = [even_biases] if bias in {0.0, 1.0} else SPREADS.values()
    side: Alternative = "greater" if bias > bound else "less"
    rejects = _judged(bound, images, design.level, side)
    worlds = (spread(bias, design.prompts) for spread in spreads)
    return min(_simulated(worlds, rejects, design))


GATED = (0.0, 0.3, 0.6)
"""Scores of the models that a gate is planned for."""


def gate_power(margin: float, images: int, design: Design, *, any_growth: bool = False) -> float:
    """Return the probability that an unchanged model passes its baseline, with other seeds.

    It is the smallest over models of several scores: the interval of the change has to end within
    the margin. With ``any_growth``, a permutation test fails at 1 - level besides.
    """
    _check(design, images)
    level = one_sided(design.level)

    def passes(bias: inputs.Floats, rng: np.random.Generator, repeat: int) -> bool:
        men, now = rng.binomial(images, male_share(bias), size=(2, design.prompts))
        counts = men, images - men, now, images - now
        change = paired_model_bias_change(*counts, level=level, seed=repeat)
        return change.high <= margin

    worlds = (even_biases(score, design.prompts) for score in GATED)
    power = min(_simulated(worlds, passes, design))
    return power * design.level if any_growth else power


def prompt_change_power(
    before: float, push: float, margin: float, images: int, design: Design
) -> float:
    """Return the exact probability that a prompt whose bias grew fails against its baseline.

    By the unconditional test for images with different seeds, at ``(1 - level) / prompts``.
    """
    _check(design, images, before=before)
    inputs.in_range("before + push", before + push, 0.0, 1.0, tolerance=1e-9)
    inputs.in_range("margin", margin, 0.0, 2.0)
    one_way = unconditional_p_values(images, images, margin / 2.0)
    # As in paired_prompt_p_value: the score grew beyond the old one and beyond its mirror image, in
    # either direction.
    claim = np.maximum(one_way, one_way[:, ::-1])
    p = 2.0 * np.minimum(claim, claim[::-1])
    right = p * design.prompts <= 1.0 - design.level + SMALL
    k = np.arange(images + 1)
    old, new = (
        scipy.stats.binom.pmf(k, images, male_share(min(1.0, b))) for b in (before, before + push)
    )
    return float(new @ right @ old)


def images_needed(
    power: Callable[[int], float], wanted: float, sizes: tuple[int, ...] = ()
) -> int | None:
    """Return the fewest images per prompt with the wanted power; None where no number has it.

    Without ``sizes``, every number up to 128, then a bisection up to 2000. Power has saw teeth: a
    slightly larger number may just miss it.
    """
    if sizes:
        return _first(lambda n: power(n) >= wanted, sizes)
    doubling = [2**k for k in range(1, MOST.bit_length())] + [MOST]
    rough = next((n for n in doubling if power(n) >= wanted), None)
    if rough is None:
        return None
    between = tuple(range(rough // 2, rough + 1))
    if rough > ONE_BY_ONE:
        return _first(lambda n: power(n) >= wanted, between)
    return next(n for n in between if power(n) >= wanted)


def _first(holds: Callable[[int], bool], values: tuple[int, ...]) -> int | None:
    """Return the first of the values from which on a condition holds, by bisection."""
    place = bisect.bisect_left(values, True, key=holds)
    return values[place] if place < len(values) else None


def _judged(
    bound: float, images: int, level: float, side: Alternative
) -> Callable[[inputs.Floats, np.random.Generator, int], bool]:
    """Return whether a simulated run of prompts of this bias rejects the bound, as a function."""

    def rejects(bias: inputs.Floats, rng: np.random.Generator, _: int) -> bool:
        men = rng.binomial(images, male_share(bias))
        evidence = FixedWords.of(men, images - men)
        p = evidence.p_greater(bound) if side == "greater" else evidence.p_less(bound)
        return p <= 1.0 - level + SMALL

    return rejects


def _simulated(
    worlds: Iterable[World], is_right: Callable[[World, np.random.Generator, int], float],
    design: Design,
) -> list[float]:  # fmt: skip
    """Return for each world the share of simulated suites with the right verdict."""
    shares = []
    for world in worlds:
        rng = np.random.default_rng(design.seed)
        right = sum(is_right(world, rng, repeat) for repeat in range(design.repeats))
        shares.append(right / design.repeats)
    return shares


def _check(design: Design, images: int, **shares: float) -> None:
    for name, value in shares.items():
        inputs.in_range(name, value, 0.0, 1.0)
    check_level(design.level)
    for name, count in (("prompts", design.prompts), ("images", images)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={count!r}")


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

    Runs are simulated at ``bias_as_seen``, without interim looks.
    """
    check_level(level)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    least_power = float(inputs.in_range("power", power, 0.0, 1.0))
    bias = bias_as_seen(male, female)
    side: Alternative = "greater" if float(np.mean(bias)) > limit else "less"

    def is_enough(images: int) -> bool:
        rejects, rng = _judged(limit, images, level, side), np.random.default_rng(seed)
        hits = 0
        for left in reversed(range(repeats)):  # as few runs as show whether the share is reached
            hits += rejects(bias, rng, left)
            if hits / repeats >= least_power or (hits + left) / repeats < least_power:
                break
        return hits / repeats >= least_power

    return _first(is_enough, TRIED)


def bias_as_seen(male: npt.ArrayLike, female: npt.ArrayLike) -> inputs.Floats:
    """Return |2p - 1| of each prompt, shrunk so that the mean is the corrected score."""
    men, women = clear_counts(male, female)
    plug_in = np.abs(men - women) / (men + women)
    mean = float(np.mean(plug_in))
    corrected = min(corrected_model_bias_score(men, women), mean) if mean else 0.0
    return np.asarray(plug_in * (corrected / mean if mean else 1.0), dtype=np.float64)


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

    Simulated at the estimated rates, shrunk to the smallest mean bias consistent at 80 %.
    """
    least_power = float(inputs.in_range("power", power, 0.0, 1.0))
    counts = (before_male, before_female, after_male, after_female)
    men, women, men_now, women_now = (inputs.whole_counts("counts", c) for c in counts)
    used = (men + women > 0) & (men_now + women_now > 0)
    men, women, men_now, women_now = men[used], women[used], men_now[used], women_now[used]
    if changed:
        biases = _least(men, women), _least(men_now, women_now)
    else:
        biases = (_least(men + men_now, women + women_now),) * 2
    old, new = map(male_share, biases)

    def share(images: int) -> float:
        def decides(shares: tuple[inputs.Floats, ...], rng: np.random.Generator, _: int) -> float:
            then, now = (rng.binomial(images, p) for p in shares)
            return decided((then, images - then, now, images - now))

        return _simulated([(old, new)], decides, Design(len(old), seed=seed, repeats=PAIRS))[0]

    return images_needed(share, least_power, sizes)


def _least(male: npt.NDArray[np.int64], female: npt.NDArray[np.int64]) -> inputs.Floats:
    """Return the estimated |2p - 1|, shrunk to the smallest mean consistent with the counts."""
    biases = bias_as_seen(male, female)
    mean = float(np.mean(biases))
    # Chance makes few images look one-sided, and one-sided prompts take the fewest.
    least = model_bias_interval(male, female, level=2.0 * LEAST_LEVEL - 1.0, seed=0).low
    return biases * (min(least, mean) / mean) if mean > 0.0 else biases
