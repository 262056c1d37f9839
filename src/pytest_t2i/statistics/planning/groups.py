"""Power of verdicts on how evenly any number of groups is shown, for prompts and for a model.

This module is the counterpart of ``power`` for several groups. As many sets of shares have the same
distance from even shares, the power is a range over them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.groups.fixed_words_reference_distance import fixed_ends
from pytest_t2i.statistics.groups.model_reference_distance import (
    mean_total_variation_interval,
    parts_of,
)
from pytest_t2i.statistics.groups.prompt_reference_distance import (
    total_variation_interval,
    total_variation_p_value,
)
from pytest_t2i.statistics.planning.power import SMALL, Design, PowerRange
from pytest_t2i.statistics.planning.spreads import SPREADS, even_biases
from pytest_t2i.statistics.shares.intervals import check_level
from pytest_t2i.statistics.shares.inversion import one_sided

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
    _check(distance, bound, images, groups, design)
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
    _check(distance, bound, images, groups, design)
    most = furthest(groups)
    mean = min(1.0, distance / most)
    spreads = [even_biases] if mean in {0.0, 1.0} else list(SPREADS.values())
    worlds = [(spread, SHAPES[0]) for spread in spreads]
    worlds += [(spreads[0], shape) for shape in SHAPES[1:]] if len(spreads) > 1 else []
    chances = [
        _decided(
            [shape(one * most, groups) for one in spread(mean, design.prompts)],
            bound, images, design, fails=distance > bound,
        )
        for spread, shape in worlds
    ]  # fmt: skip
    return PowerRange(min(chances), max(chances), None)


def _decided(
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


def _check(distance: float, bound: float, images: int, groups: int, design: Design) -> None:
    if groups < TWO:
        raise ValueError(f"groups must be at least 2, got groups={groups!r}")
    inputs.in_range("distance", distance, 0.0, furthest(groups), tolerance=1e-9)
    inputs.in_range("bound", bound, 0.0, 1.0)
    check_level(design.level)
    for name, value in (("prompts", design.prompts), ("images", images)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
