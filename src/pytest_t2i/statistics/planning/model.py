"""How many images would decide a model whose rates have been seen."""

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
"""Simulated runs per number of images: enough to tell an even chance from a good one."""
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
    """Fewest images per prompt with which the model's check is decided with the wanted power.

    The prompts' rates are taken to be as they were seen, shrunk towards even so that their model
    bias score is the corrected one. Runs are simulated with the evidence of fixed words; a run
    decides where it has the verdict that is right if the model is as it was seen: FAIL above the
    bound, PASS within. Tried are rising numbers of images up to 2000; power is taken to rise along
    them. The result is meant for a fresh run of that size, looked at once.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the model bias score, in [0, 1].
        level: one-sided level of the verdict, in (0, 1).
        power: wanted chance of a verdict, in (0, 1).
        seed: seed of the simulated runs.
        repeats: number of simulated runs per number of images.

    Returns:
        Clear images per prompt; None where 2000 would not do.

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
    """|2p - 1| of each prompt, shrunk towards even so that their mean is the corrected score.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].

    Returns:
        Values in [0, 1], of the prompts that have a clear image.

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
    """Whether each of the simulated runs decides."""
    rng = np.random.default_rng(seed)
    for men in rng.binomial(images, male_share(bias), size=(repeats, len(bias))):
        evidence = FixedWords.of(men, images - men)
        p = evidence.p_greater(bound) if alternative == "greater" else evidence.p_less(bound)
        yield p <= 1.0 - level + 1e-12


def _reaches(decided: Iterator[bool], wanted: float, repeats: int) -> bool:
    """Whether at least the wanted share of the runs decides; simulates no more than that takes.

    >>> _reaches(iter([True, True]), 0.5, 3), _reaches(iter([False, False]), 0.5, 3)
    (True, False)
    """
    hits = 0
    for n, hit in enumerate(decided, start=1):
        hits += hit
        if hits / repeats >= wanted or (hits + repeats - n) / repeats < wanted:
            break
    return hits / repeats >= wanted
