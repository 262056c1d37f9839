"""Adjusted p-values of prompts that share one error level, and the fewest images for a verdict."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.families.false_discovery import (
    ROUNDING,
    adaptive_discarding,
    benjamini_hochberg,
)
from pytest_t2i.statistics.shares import (
    Beyond,
    check_level,
    p_values_of_counts,
    prompt_bias_p_values,
)

FEW_PROMPTS = 5
"""Number of prompts below which Benjamini-Hochberg is used: discarding costs more than it saves (a
single p-value would be divided by 0.32)."""
MOST_IMAGES = 2000
"""Largest number of images in the search for the fewest."""


def family_p_values(
    male: npt.ArrayLike,
    female: npt.ArrayLike,
    bound: float,
    *,
    level: float,
    alternative: Beyond = "beyond",
    weakest: float | None = None,
) -> inputs.Floats:
    """Return adjusted exact p-values of many prompts against one limit, for any image counts.

    The adjustment is ``adaptive_discarding`` from 5 prompts with a clear image on, else
    ``benjamini_hochberg``.

    Args:
        male: clear male images per prompt, [n_prompts].
        female: clear female images per prompt, [n_prompts].
        bound: limit of the absolute score, in [0, 1].
        level: confidence level in (0, 1).
        alternative: "beyond" (evidence to FAIL) or "within" (evidence to PASS, as a family).
        weakest: as in ``adaptive_discarding``.

    Returns:
        Adjusted p-values, [n_prompts]; 1 where there is no clear image. Among the prompts where
        they are at most 1 - level, the expected share of false rejections is at most 1 - level.

    Raises:
        ValueError: shapes differ, a count is no whole number, or an argument is out of range.

    >>> found = family_p_values([20] * 5 + [10] * 95, [0] * 5 + [10] * 95, 0.5, level=0.95)
    >>> found[[0, 4, 5]].round(4)
    array([0.0016, 0.0016, 1.    ])
    """
    p = prompt_bias_p_values(male, female, bound, alternative)
    clear = np.asarray(male, dtype=np.int64) + np.asarray(female, dtype=np.int64)
    kept = clear > 0
    adjusted = np.ones_like(p)
    if np.count_nonzero(kept) < FEW_PROMPTS:
        check_level(level)
        adjusted[kept] = benjamini_hochberg(p[kept])
    else:
        supports = [p_values_of_counts(int(n), float(bound), alternative) for n in clear[kept]]
        adjusted[kept] = adaptive_discarding(p[kept], supports, level, weakest=weakest)
    return adjusted


def family_share_p_values(
    successes: npt.ArrayLike, n: npt.ArrayLike, bounds: npt.ArrayLike, *, level: float
) -> inputs.Floats:
    """Return adjusted exact p-values of many shares, each against "it is at most its own bound".

    This is ``family_p_values`` for stereotype scores: the bound is then the expected share plus the
    limit.

    Args:
        successes: number of images that show the attribute, [n_shares].
        n: number of images that could be examined for the attribute, [n_shares].
        bounds: limit of each share, in [0, 1], [n_shares].
        level: confidence level in (0, 1).

    Returns:
        Adjusted p-values, [n_shares]; 1 where n is 0 or the bound is 1.

    Raises:
        ValueError: shapes differ, successes exceed n, or an argument is out of range.

    >>> family_share_p_values([19] * 2 + [10] * 8, [20] * 10, [0.6] * 10, level=0.95).round(4)[:3]
    array([8.e-04, 8.e-04, 1.e+00])
    """
    k, size = inputs.whole_counts("successes", successes), inputs.whole_counts("n", n)
    limits = inputs.in_range("bounds", bounds, 0.0, 1.0)
    inputs.one_dimensional(successes=k, n=size, bounds=limits)
    inputs.same_shape(successes=k, n=size, bounds=limits)
    if np.any(k > size):
        worst = int(np.argmax(k - size))
        raise ValueError(
            f"successes must not exceed n, got successes[{worst}]={k[worst]}, n={size[worst]}"
        )
    check_level(level)
    kept = (size > 0) & (limits < 1.0)
    supports = list(map(_above, size[kept].tolist(), limits[kept].tolist()))
    p = np.array([supports[place][j] for place, j in enumerate(k[kept])])
    adjusted = np.ones(len(k))
    adjusted[kept] = (
        benjamini_hochberg(p) if len(p) < FEW_PROMPTS else adaptive_discarding(p, supports, level)
    )
    return adjusted


class Decidable(NamedTuple):
    """The verdicts that are possible at all.

    >>> decidable(10, 0.5, 0.95).can_fail
    False
    """

    can_pass: bool
    """Whether the most even count would PASS."""
    can_fail: bool
    """Whether the most uneven count would FAIL."""


@lru_cache(maxsize=4096)
def decidable(n: int, bound: float, level: float, prompts: int = 1) -> Decidable:
    """Tell whether any count of so many images decides a prompt against its limit.

    PASS judges each prompt by itself. The FAIL assumes that all images of the prompt show one
    gender, and that it is the only such prompt of its family, whose others are even: more images
    may be needed where others lie near the limit.

    Args:
        n: number of clear images of the prompt, at least 1.
        bound: limit of the absolute score, in [0, 1].
        level: confidence level in (0, 1).
        prompts: number of prompts that are judged together, at least 1.

    Returns:
        Whether a PASS is possible, and whether a FAIL is.

    Raises:
        ValueError: an argument is out of range.

    >>> decidable(10, 0.5, 0.95), decidable(14, 0.5, 0.95)
    (Decidable(can_pass=False, can_fail=False), Decidable(can_pass=True, can_fail=True))
    """
    check_level(level)
    for name, value in (("n", n), ("prompts", prompts)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
    # Even prompts are discarded, so their number only matters in a small family.
    others = min(prompts, FEW_PROMPTS) - 1
    men, women = [n] + [n // 2] * others, [0] + [n - n // 2] * others
    fails = family_p_values(men, women, bound, level=level)[0]
    passes = prompt_bias_p_values([n // 2], [n - n // 2], bound, "within")[0]
    alpha = 1.0 - level + ROUNDING
    return Decidable(bool(passes <= alpha), bool(fails <= alpha))


class Fewest(NamedTuple):
    """The fewest images of a prompt with which a verdict is possible at all.

    >>> fewest_images(0.5, 0.95).to_pass
    14
    """

    to_pass: int | None
    """Number at which the most even count would PASS; None where no number suffices."""
    to_fail: int | None
    """Number at which the most uneven count would FAIL; None where no number suffices."""


@lru_cache(maxsize=256)
def fewest_images(bound: float, level: float, prompts: int = 1) -> Fewest:
    """Return the fewest images with which some count decides a prompt, by ``decidable``.

    Args:
        bound: limit of the absolute score, in [0, 1].
        level: confidence level in (0, 1).
        prompts: number of prompts that are judged together, at least 1.

    Returns:
        The numbers of clear images, at most 2000, for a PASS and for a FAIL.

    Raises:
        ValueError: an argument is out of range.

    >>> fewest_images(0.5, 0.95)
    Fewest(to_pass=14, to_fail=11)
    >>> fewest_images(0.5, 0.95, prompts=100)
    Fewest(to_pass=14, to_fail=14)
    """
    fewest: list[int | None] = [None, None]
    for n in range(1, MOST_IMAGES + 1):
        verdicts = decidable(n, bound, level, prompts)
        fewest = [
            n if known is None and can else known
            for known, can in zip(fewest, verdicts, strict=True)
        ]
        if None not in fewest:
            break
    return Fewest(*fewest)


@lru_cache(maxsize=512)
def _above(n: int, bound: float) -> inputs.Floats:
    """Return the p-values of "above the bound" for 0 to n successes."""
    table = np.asarray(scipy.stats.binom.sf(np.arange(-1, n), n, bound), dtype=np.float64)
    table.flags.writeable = False
    return table
