"""How many images would decide a model whose rates have been seen."""

from __future__ import annotations

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


def observed_model_power(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    bound: float,
    images: int,
    *,
    level: float = 0.95,
    seed: int = 0,
    repeats: int = REPEATS,
) -> float:
    """Chance that a run of these prompts with so many images decides the model's check.

    The prompts' rates are taken to be as they were seen, shrunk towards even so that their model
    bias score is the corrected one, and runs are simulated with the evidence of fixed words.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the model bias score, in [0, 1].
        images: clear images per prompt of the run that is thought of, at least 1.
        level: one-sided level of the verdict, in (0, 1).
        seed: seed of the simulated runs.
        repeats: number of simulated runs.

    Returns:
        Share of the runs with the verdict that is right if the model is as it was seen: FAIL
        above the bound, PASS within.

    Raises:
        ValueError: shapes differ, no prompt has a clear image, or an option is out of range.

    >>> observed_model_power([20] * 10, [0] * 10, 0.5, 10)
    1.0
    """
    check_level(level)
    limit = float(inputs.in_range("bound", bound, 0.0, 1.0))
    if images < 1 or repeats < 1:
        raise ValueError(
            f"images and repeats must be at least 1, got images={images!r}, repeats={repeats!r}"
        )
    bias, alternative = _as_seen(male, female, limit)
    return _power(bias, limit, images, alternative, level, seed, repeats)


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

    As ``observed_model_power``, over rising numbers of images up to 2000; power is taken to rise
    along them. It is a number for a fresh run of that size, looked at once.

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
        if _power(bias, limit, TRIED[middle], alternative, level, seed, repeats) >= wanted:
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


def _power(
    bias: inputs.Floats, bound: float, images: int, alternative: Alternative, level: float,
    seed: int, repeats: int,
) -> float:  # fmt: skip
    rng = np.random.default_rng(seed)
    decided = 0
    for men in rng.binomial(images, male_share(bias), size=(repeats, len(bias))):
        evidence = FixedWords.of(men, images - men)
        p = evidence.p_greater(bound) if alternative == "greater" else evidence.p_less(bound)
        decided += p <= 1.0 - level + 1e-12
    return decided / repeats
