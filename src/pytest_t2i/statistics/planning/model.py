"""Number of images that decides a model's check, given the observed counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.model.bias import clear_counts, corrected_model_bias_score
from pytest_t2i.statistics.model.fixed_words import FixedWords
from pytest_t2i.statistics.planning.power import PER_MODEL
from pytest_t2i.statistics.shares.intervals import check_level, male_share
from pytest_t2i.statistics.shares.inversion import Alternative

REPEATS = 100
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
    repeats: int = REPEATS,
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
        decided = _decided(bias, limit, TRIED[middle], alternative, level, seed, repeats)
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


def _decided(
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
