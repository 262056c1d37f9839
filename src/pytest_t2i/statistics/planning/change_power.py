"""Power of a model's comparison with its baseline."""

from __future__ import annotations

import numpy as np

from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.change import paired_model_bias_change
from pytest_t2i.statistics.planning.power import Design, PowerRange
from pytest_t2i.statistics.planning.spreads import SPREADS, even_biases, grown_alike, grown_few
from pytest_t2i.statistics.shares.intervals import check_level, male_share
from pytest_t2i.statistics.shares.inversion import one_sided

RESAMPLES = 200
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
