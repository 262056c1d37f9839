"""How many images would decide an open verdict, and the range in which that number may lie.

Where the power of a check is known, it is the smallest number that decides at even odds; else the
one with which the interval would be narrow enough.
"""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import scipy

from pytest_t2i.data import Direction, Interval, Outcome
from pytest_t2i.statistics.planning import Design, images_needed
from pytest_t2i.verdicts.judge import compare
from pytest_t2i.verdicts.measurement import Measurement, Power

MOST_IMAGES = 10_000_000
"""Larger numbers are no useful advice: the estimate practically lies on the bound."""
EVEN_ODDS = 0.5

SCORE_LEVEL = 0.8
"""Level of the interval of the score from which the range follows."""


def more_images(measurement: Measurement, bound: float, level: float) -> int | None:
    """Return about how many more images would decide an open verdict; None where it is not known.

    ``measurement`` is as judged.
    """
    interval, images, family = measurement.interval, measurement.images, measurement.family
    if interval is None or not images:
        return None
    if measurement.power is not None and family is not None:
        design = Design(len(family), level)
        return more_by_power(measurement.power, abs(interval.estimate), bound, images, design)
    worse: Direction = "lower" if measurement.metric.worse == "lower" else "higher"
    return more_by_interval(interval, bound, worse, images) or None


def more_by_interval(
    interval: Interval, bound: float, worse: Direction, n_images: int
) -> int | None:
    """Return about how many more images would decide, if the estimate stayed the same.

    The side of the interval that faces the bound must shrink to the distance between estimate and
    bound; it shrinks with the square root of the number of images.

    .. math:: n (half-width / distance)^2 - n

    >>> more_by_interval(Interval(0.2, 0.0, 0.4, 0.95, "exact", 20), 0.3, "higher", 20)
    60
    """
    if n_images < 1:
        raise ValueError(f"n_images must be at least 1, got n_images={n_images!r}")
    if compare(interval, bound, worse) is not Outcome.INCONCLUSIVE:
        return 0
    if worse == "away_from_zero":
        interval = abs(interval)
    estimate = interval.estimate
    half = interval.high - estimate if estimate < bound else estimate - interval.low
    distance = abs(estimate - bound)
    if distance == 0.0 or n_images * (half / distance) ** 2 > MOST_IMAGES:
        return None
    return max(1, math.ceil(round(n_images * ((half / distance) ** 2 - 1.0), 6)))


@lru_cache(maxsize=1024)
def more_by_power(
    power: Power, estimate: float, bound: float, n_images: int, design: Design
) -> int | None:
    """Return about how many more images would decide, as in ``t2i plan``.

    The number is the smallest with a power of one half if the true score equals the estimate.

    >>> from pytest_t2i.statistics.planning import prompt_power
    >>> more_by_power(prompt_power, 0.9, 0.5, 10, Design(100, 0.95)) > 0
    True
    """
    total = images_needed(lambda n: power(estimate, bound, n, design), EVEN_ODDS)
    return None if total is None else max(1, total - n_images)


class ImagesRange(NamedTuple):
    """The smallest and largest number of images that a verdict may need."""

    low: int
    high: int | None
    """None where the score may lie at its bound, where no number suffices."""

    def words(self, what: str) -> str:
        """Return the range in words; ``what`` is the unit, such as "more" or "per prompt".

        >>> ImagesRange(9, 300).words("per prompt")
        '9 to 300 per prompt'
        >>> ImagesRange(9, None).words("more")
        'at least 9 more; no upper end is known yet'
        """
        if self.high is None:
            return f"at least {self.low} {what}; no upper end is known yet"
        return f"{self.low} to {self.high} {what}"

    def less(self, images: int) -> ImagesRange:
        """Return the range of further images, at least one, beyond those that were made.

        >>> ImagesRange(30, 90).less(40)
        ImagesRange(low=1, high=50)
        """
        high = None if self.high is None else max(1, self.high - images)
        return ImagesRange(max(1, self.low - images), high)


def middle_range(ranges: Sequence[ImagesRange]) -> ImagesRange:
    """Return the range from the median of the low ends to the median of the high ends.

    >>> middle_range([ImagesRange(5, 9), ImagesRange(7, None), ImagesRange(6, None)])
    ImagesRange(low=6, high=None)
    """
    high = plain.median_low([math.inf if span.high is None else span.high for span in ranges])
    low = plain.median_low([span.low for span in ranges])
    return ImagesRange(low, None if math.isinf(high) else int(high))


def images_range(images: int, interval: Interval, bound: float) -> ImagesRange:
    """Return the total number of images that decides, over the 80 % interval of the score.

    .. math:: n (d / (d +- z_{0.9} s))^2

    as the number of images grows with the inverse square of the distance d from the bound; s is the
    standard error, from the side of the interval that faces the bound.

    >>> images_range(100, Interval(0.2, 0.1, 0.3, 0.95, "clopper-pearson", 20), 0.4)
    ImagesRange(low=57, high=221)
    >>> images_range(100, Interval(0.2, 0.1, 0.3, 0.95, "clopper-pearson", 20), 0.25).high is None
    True
    """
    distance = abs(interval.estimate - bound)
    below = interval.estimate < bound
    half = interval.high - interval.estimate if below else interval.estimate - interval.low
    error = half / float(scipy.special.ndtri((1.0 + interval.level) / 2.0))
    reach = float(scipy.special.ndtri((1.0 + SCORE_LEVEL) / 2.0)) * error
    if distance == 0.0:
        return ImagesRange(images, None)
    low = math.ceil(images * (distance / (distance + reach)) ** 2)
    if distance <= reach:
        return ImagesRange(low, None)
    high = math.ceil(images * (distance / (distance - reach)) ** 2)
    return ImagesRange(low, high if high <= MOST_IMAGES else None)


def change_range(images: int, change: Interval, margin: float) -> ImagesRange:
    """Return the images in each of two runs that decide a margin, over an 80 % interval.

    The change is taken as 0 where its interval contains 0, as changes observed by chance look
    large; otherwise as measured.

    >>> change_range(60, Interval(0.04, -0.02, 0.1, 0.95, "paired", 30), 0.1)
    ImagesRange(low=31, high=163)
    """
    changed = change.low > 0.0 or change.high < 0.0
    off = 0.0 if changed else -change.estimate
    moved = replace(
        change, estimate=change.estimate + off, low=change.low + off, high=change.high + off
    )
    return images_range(images, moved, margin)
