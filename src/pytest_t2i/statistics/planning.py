"""Power of verdicts, and the number of images that reaches a power, by simulation of the judge.

Power is the probability that a verdict is reached and right: PASS where the true score lies within
the limit, FAIL where it lies beyond. Prompts are drawn at a true score, as the distributions and
shapes below spread it, and judged by the functions that judge a run.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.families import lone_chances
from pytest_t2i.statistics.inversion import Alternative
from pytest_t2i.statistics.model import (
    clear_counts,
    corrected_model_bias_score,
    model_bias_interval,
    model_bias_p_value,
)
from pytest_t2i.statistics.shares import check_level, male_share, p_values_of_counts

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
    """Return the probability that a prompt's check is decided, for independent images.

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


Counts = npt.NDArray[np.int64]
World = Sequence[inputs.Floats]
"""|2p - 1| of each prompt, in each run that is judged together: one, or the runs before and now."""


def simulated_power(
    worlds: Iterable[World], decided: Callable[..., float], images: int, design: Design
) -> float:
    """Return the chance that simulated runs are decided, the smallest over worlds.

    Images are drawn independently, and ``decided`` is the code that judges. Nobody knows how bias
    is spread over prompts: so several worlds are tried.

    Args:
        worlds: |2p - 1| of each prompt, one vector for each run that is judged together.
        decided: (male, female) of each prompt, of each run in turn -> whether these counts are
            decided, or the share of prompts that are.
        images: clear images of each prompt, at least 1.
        design: prompts, level, seed, and number of simulated runs per world.

    Returns:
        The smallest mean of ``decided`` over the worlds.

    Raises:
        ValueError: an argument lies outside its range.

    >>> one_sided = [np.ones(10)]
    >>> simulated_power([one_sided], lambda men, women: float(men.sum() == 200), 20, Design(10))
    1.0
    """
    _check(design, images)
    shares = []
    for world in worlds:
        rng, total = np.random.default_rng(design.seed), 0.0
        for _ in range(design.repeats):
            men = [rng.binomial(images, male_share(bias)) for bias in world]
            total += decided(*(side for count in men for side in (count, images - count)))
        shares.append(total / design.repeats)
    return min(shares)


def model_is_decided(bound: float, level: float, side: Alternative) -> Callable[..., float]:
    """Return the rule whether the counts of a run reject a bound of the model bias score."""
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))

    def rejects(men: Counts, women: Counts) -> float:
        return float(model_bias_p_value(men, women, limit, alternative=side) <= 1.0 - level + SMALL)

    return rejects


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


def _check(design: Design, images: int, **shares: float) -> None:
    for name, value in shares.items():
        inputs.in_range(name, value, 0.0, 1.0)
    check_level(design.level)
    for name, count in (("prompts", design.prompts), ("images", images)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={count!r}")


def model_images_needed(
    male: npt.ArrayLike, female: npt.ArrayLike, bound: float, *, level: float, power: float = 0.5
) -> int | None:
    """Return the fewest images per prompt that decide the model's check, at ``bias_as_seen``."""
    bias = bias_as_seen(male, female)
    decided = model_is_decided(bound, level, "greater" if float(bias.mean()) > bound else "less")
    design = Design(len(bias), level, repeats=RUNS)
    return images_needed(lambda n: simulated_power([[bias]], decided, n, design), power, TRIED)


def bias_as_seen(male: npt.ArrayLike, female: npt.ArrayLike) -> inputs.Floats:
    """Return |2p - 1| of each prompt, shrunk so that the mean is the corrected score."""
    men, women = clear_counts(male, female)
    plug_in = np.abs(men - women) / (men + women)
    mean = float(np.mean(plug_in))
    corrected = min(corrected_model_bias_score(men, women), mean) if mean else 0.0
    return np.asarray(plug_in * (corrected / mean if mean else 1.0), dtype=np.float64)


Pair = tuple[Counts, ...]
"""Male and female images of each prompt before, then after."""


def change_images_needed(
    pair: Pair, decided: Callable[..., float], *, changed: bool = False, power: float = 0.8
) -> int | None:
    """Return the fewest images per prompt, in each of two runs, that decide their comparison.

    Simulated at the estimated rates, shrunk to the smallest mean bias consistent at 80 %.
    """
    men, women, men_now, women_now = pair
    used = (men + women > 0) & (men_now + women_now > 0)
    men, women, men_now, women_now = (counts[used] for counts in pair)
    old = _least(men, women) if changed else _least(men + men_now, women + women_now)
    world = [old, _least(men_now, women_now) if changed else old]
    design = Design(len(old), repeats=PAIRS)
    return images_needed(lambda n: simulated_power([world], decided, n, design), power, PER_CHANGE)


def _least(male: Counts, female: Counts) -> inputs.Floats:
    """Return the estimated |2p - 1|, shrunk to the smallest mean consistent with the counts."""
    biases = bias_as_seen(male, female)
    mean = float(np.mean(biases))
    # Chance makes few images look one-sided, and one-sided prompts take the fewest.
    least = model_bias_interval(male, female, level=2.0 * LEAST_LEVEL - 1.0, seed=0).low
    return biases * (min(least, mean) / mean) if mean > 0.0 else biases
