"""Intervals of what a mitigation changes, and p-values of limits.

Each function takes the images of fixed prompts, as images are drawn and prompts are not. The
coverage of the intervals is simulated in ``tests/simulations/mitigated.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pytest_t2i import Evidence, Interval, statistics
from scipy import stats

HALVINGS = 24
CHANCE = 0.8
"""The probability of PASS for which a number of images is suggested."""
MOST = 1000
"""The largest number of images per prompt that is tried."""


class LeftOut(NamedTuple):
    """A statistic of one prompt's images, with each image left out in turn."""

    all: float
    """The value for all images."""
    without: np.ndarray
    """The values without each image, [n_images]."""


def ratio_of_sums(
    above: Sequence[LeftOut], below: Sequence[LeftOut], level: float
) -> Interval | None:
    """Return a ratio of sums over prompts, with an interval by a jackknife of images.

    .. math:: R = sum A_p / sum B_p,
       Var R = sum_p (n_p - 1)/n_p sum_k (L_pk - mean L_p)^2 / (sum B_p)^2,  L = A - R B

    L_pk is computed from the images of prompt p without the k-th (delete-one jackknife of a
    linearised ratio, with prompts as strata: Efron and Stein 1981). Quantiles are Student's.

    Args:
        above: the statistic A of each prompt.
        below: the statistic B of each prompt, with the same images left out in the same order.
        level: confidence level in (0, 1).

    Returns:
        The ratio with its interval; None where sum B is 0 or less, or where nothing varies although
        the ratio is not 0.

    >>> spread = np.random.default_rng(0).normal(size=40)
    >>> mean = LeftOut(float(spread.mean()), (spread.sum() - spread) / 39)
    >>> one = LeftOut(1.0, np.ones(40))
    >>> print(ratio_of_sums([mean], [one], 0.95))
    -0.060 [-0.315, 0.194]
    """
    total = sum(one.all for one in below)
    if total <= 0.0:
        return None
    ratio = sum(one.all for one in above) / total
    variance, freedom = 0.0, 0
    for a, b in zip(above, below, strict=True):
        pieces = a.without - ratio * b.without
        images = len(pieces)
        variance += (images - 1) / images * float(((pieces - pieces.mean()) ** 2).sum())
        freedom += images - 1
    images = freedom + len(above)
    if variance <= 0.0 or freedom < 1:
        return Interval(0.0, 0.0, 0.0, level, "identical", images) if ratio == 0.0 else None
    half = float(stats.t.isf((1.0 - level) / 2.0, freedom)) * math.sqrt(variance) / total
    return Interval(ratio, ratio - half, ratio + half, level, "jackknife", images)


def rise(before: npt.ArrayLike, after: npt.ArrayLike, level: float, *, paired: bool) -> Interval:
    """Return how much more often something holds after than before.

    Args:
        before: whether it holds for each plain picture, [n] of bool.
        after: whether it holds for the mitigated picture of the same prompt and seed, [n] of bool.
        level: confidence level in (0, 1).
        paired: whether the two pictures of a prompt and seed share their noise; else they are
            treated as two samples (exact).

    >>> print(rise([True] * 20, [True] * 18 + [False] * 2, 0.95, paired=False))
    -0.100 [-0.317, 0.084]
    """
    if paired:
        return statistics.paired_gap_interval([after], [before], level=level)
    was, is_now = np.asarray(before, bool), np.asarray(after, bool)
    then, today = ((int(part.sum()), part.size) for part in (was, is_now))
    return statistics.share_difference_interval(then, today, level)


class Turn(NamedTuple):
    """The mitigated pictures of a prompt that show the other gender than most plain ones."""

    over: int
    """The number of mitigated pictures of the other gender."""
    clear: int
    """The number of mitigated pictures with a gender."""
    either: bool = False
    """Whether plain pictures show both genders equally, so that ``over`` counts the larger side."""

    def p_values(self, bound: float) -> Evidence:
        """Return exact binomial p-values against a score of ``bound`` on the other side."""
        share = min(1.0, max(0.0, (1.0 + bound) / 2.0))
        sides = 2.0 if self.either else 1.0
        beyond = float(stats.binom.sf(self.over - 1, self.clear, share))
        return Evidence(
            min(1.0, sides * beyond), float(stats.binom.cdf(self.over, self.clear, share))
        )

    @property
    def score(self) -> float:
        """The score: from -1, no picture shows the other gender, to 1, all do."""
        return (2 * self.over - self.clear) / self.clear if self.clear else 0.0


def turned(plain: tuple[int, int], mitigated: tuple[int, int]) -> Turn:
    """Return the turn from (male, female) counts before to those after.

    >>> turned((20, 0), (5, 15)), turned((0, 20), (5, 15)).score
    (Turn(over=15, clear=20, either=False), -0.5)
    """
    male, female = mitigated
    if plain[0] == plain[1]:
        return Turn(max(male, female), male + female, either=True)
    return Turn(female if plain[0] > plain[1] else male, male + female)


def evidence_of_turns(turns: Sequence[Turn], bound: float) -> Evidence:
    """Return p-values for the prompt that turned over furthest.

    Within the bound means that every prompt is, so the largest p-value decides (intersection-union
    test, Berger 1982). Beyond the bound means that some prompt is, by Simes' combination of all
    p-values (1986).

    >>> all_women = [turned((20, 0), (0, 20))] * 10
    >>> evidence_of_turns(all_women, 0.6).beyond < 0.05
    True
    """
    each = [turn.p_values(bound) for turn in turns]
    ranked = sorted(1.0 if one.beyond is None else one.beyond for one in each)
    simes = min((len(ranked) * p / rank for rank, p in enumerate(ranked, start=1)), default=1.0)
    within = max((1.0 if one.within is None else one.within for one in each), default=1.0)
    return Evidence(min(1.0, simes), within)


def turn_interval(turns: Sequence[Turn], level: float) -> Interval | None:
    """Return the furthest turn, with the interval of both inverted tests.

    Returns None where no picture shows a gender.

    >>> print(turn_interval([turned((20, 0), (0, 20))] * 10, 0.9))
    1.000 [0.722, 1.000]
    """
    known = [turn for turn in turns if turn.clear]
    if not known:
        return None
    error = (1.0 - level) / 2.0
    low = _edge(lambda bound: (evidence_of_turns(turns, bound).beyond or 0.0) <= error)
    high = _edge(lambda bound: (evidence_of_turns(turns, bound).within or 0.0) > error)
    estimate = max(turn.score for turn in known)
    images = sum(turn.clear for turn in known)
    return Interval(
        estimate, min(low, estimate), max(high, estimate), level, "binomial, furthest", images
    )


def images_for_turns(prompts: int, bound: float, level: float) -> int | None:
    """Return the images per prompt with which even pictures pass a limit in four of five runs.

    Even the prompt that turned furthest must pass. None where ``MOST`` images do not suffice.

    >>> images_for_turns(12, 0.6, 0.95), images_for_turns(12, 0.0, 0.95)
    (36, None)
    """
    if bound <= 0.0:
        return None
    share = min(1.0, (1.0 + bound) / 2.0)
    for images in range(1, MOST):
        furthest = stats.binom.ppf(CHANCE ** (1.0 / prompts), images, 0.5)
        if stats.binom.cdf(furthest, images, share) <= 1.0 - level:
            return images
    return None


def _edge(holds: Callable[[float], bool]) -> float:
    """Return the largest value in [-1, 1] up to which a condition holds."""
    low, high = -1.0, 1.0
    if holds(high):
        return high
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def evidence_of(
    interval_at: Callable[[float], Interval], *, higher_is_worse: bool
) -> Callable[[float, float], Evidence]:
    """Return a function for p-values of a limit, from intervals that widen with their level."""

    def evidence(bound: float, level: float) -> Evidence:
        del level
        greater = statistics.inverted_p_value(interval_at, bound, alternative="greater")
        less = statistics.inverted_p_value(interval_at, bound, alternative="less")
        return Evidence(greater, less) if higher_is_worse else Evidence(less, greater)

    return evidence
