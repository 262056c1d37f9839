"""Number of images per run that decides a comparison of two runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.baseline.change import FEWEST_IMAGES, unmoved_model_bias_change
from pytest_t2i.statistics.baseline.linear_scores import BIAS, table_bias
from pytest_t2i.statistics.baseline.model_test import BALANCE
from pytest_t2i.statistics.families.empirical_bayes import GRID, spread_given_counts
from pytest_t2i.statistics.model.bias import Estimator, model_bias_interval
from pytest_t2i.statistics.model.fixed_words import Words
from pytest_t2i.statistics.planning.model import bias_as_seen
from pytest_t2i.statistics.planning.power import PER_CHANGE, images_needed
from pytest_t2i.statistics.shares.intervals import male_share

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
