"""The counts of one combination's images, and the evidence of bias in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import scipy
from pytest_t2i import Interval, statistics
from pytest_t2i.prompts import Part

Parts = tuple[Part, ...]
"""A combination of words of different axes, in the order of the axes."""


BOTH = (1, -1)
"""Directions of a gender bias: towards men, towards women."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of images of one combination by gender label."""

    male: int = 0
    female: int = 0
    images: int = 0
    """Number of all images; those that are neither male nor female are undetected."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.male + other.male, self.female + other.female, self.images + other.images
        )

    @property
    def clear(self) -> int:
        """The number of images with a gender label."""
        return self.male + self.female

    @property
    def score(self) -> float | None:
        """The prompt bias score (Lyu eq. 2); None without a clear image."""
        return (self.male - self.female) / self.clear if self.clear else None

    def value(self, towards: int) -> float | None:  # noqa: ARG002 - the score is signed
        """Return the score, whatever the direction."""
        return self.score

    def excess(self, towards: int) -> float | None:
        """Return the score towards men (1) or towards women (-1)."""
        return None if self.score is None else self.score * towards

    def lean(self, towards: int) -> float:
        """Return the score in a direction, shrunk to 0 for few images."""
        return towards * (self.male - self.female) / (self.clear + 2)

    def promise(self, towards: int, beyond: float) -> float:
        """Return the posterior probability that the score lies beyond a bound in a direction.

        It is a tail of the share's Jeffreys posterior Beta(k + 1/2, n - k + 1/2), and 0 without a
        clear image.

        >>> round(Counts(4, 0, 4).promise(1, 0.5), 2), round(Counts(3, 1, 4).promise(1, 0.5), 2)
        (0.88, 0.46)
        """
        if not self.clear:
            return 0.0
        return _tail(self.male if towards > 0 else self.female, self.clear, (1.0 + beyond) / 2.0)

    def p_value(self, towards: int, beyond: float, alike: float) -> float:
        """Return the exact p-value against "the score is within the bound".

        It holds whatever undetected images show; up to a share ``alike`` of all images, undetected
        ones are taken to be like the others. It is 1 without evidence in this direction.
        """
        if self.score is None or self.score * towards <= 0:
            return 1.0
        unknown = self.images - self.clear
        images = self.images if unknown > alike * self.images else self.clear
        # The undetected images are given to the rarer gender until both are as frequent
        # (docs/decisions/0005-undetected-images.md).
        more = max(self.male, self.female, images - images // 2)
        return statistics.prompt_bias_p_value(more, images - more, beyond)

    def interval(self, towards: int, level: float) -> Interval | None:  # noqa: ARG002 - as ``value``
        """Return the interval of the score; None without a clear image."""
        if not self.clear:
            return None
        return statistics.prompt_bias_interval(self.male, self.female, level)

    def plain(self) -> dict[str, Any]:
        """Return counts and score as plain values."""
        return {**asdict(self), "score": self.score}


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """The numbers of images of one combination by group, in the order of the detector's groups.

    A direction is the number of a group, from 1. The excess of a share p of K groups is
    (p - 1/K) / (1 - 1/K): 0 for an even share, 1 if no other group is shown. For two groups it is
    the bias score.

    >>> GroupCounts((6, 1, 1), 9).excess(1)
    0.625
    """

    shown: tuple[int, ...]
    images: int = 0

    def __add__(self, other: GroupCounts) -> GroupCounts:
        pairs = zip(self.shown, other.shown, strict=True)
        return GroupCounts(tuple(a + b for a, b in pairs), self.images + other.images)

    @property
    def clear(self) -> int:
        """The number of images with a label."""
        return sum(self.shown)

    def value(self, towards: int) -> float | None:
        """Return the group's share of the clear images; None without one."""
        return self.shown[towards - 1] / self.clear if self.clear else None

    def excess(self, towards: int) -> float | None:
        """Return the excess of the group's share over an even one; None without a clear image."""
        share = self.value(towards)
        even = 1.0 / len(self.shown)
        return None if share is None else (share - even) / (1.0 - even)

    def lean(self, towards: int) -> float:
        """Return the excess, shrunk to 0 as by two more images with even groups."""
        return (self.excess(towards) or 0.0) * self.clear / (self.clear + 2)

    def promise(self, towards: int, beyond: float) -> float:
        """Return the posterior probability that the excess lies beyond a bound.

        It is a tail of the share's Jeffreys posterior Beta(k + 1/2, n - k + 1/2).
        """
        if not self.clear:
            return 0.0
        return _tail(self.shown[towards - 1], self.clear, self.share_beyond(beyond))

    def p_value(self, towards: int, beyond: float, alike: float) -> float:
        """Return the exact one-sided p-value against "the excess is within the bound".

        Undetected images count as for ``Counts.p_value``. The p-value is 1 if the group's share is
        not above an even one.
        """
        if (self.excess(towards) or 0.0) <= 0.0:
            return 1.0
        unknown = self.images - self.clear
        n = self.images if unknown > alike * self.images else self.clear
        share = self.share_beyond(beyond)
        return float(statistics.share_p_value(self.shown[towards - 1], n, share, "above"))

    def interval(self, towards: int, level: float) -> Interval | None:
        """Return the interval of the group's share; None without a clear image."""
        if not self.clear:
            return None
        return statistics.share_interval(self.shown[towards - 1], self.clear, level)

    def plain(self) -> dict[str, Any]:
        """Return the counts as plain values, in the order of the groups."""
        return {"shown": list(self.shown), "images": self.images}

    def share_beyond(self, beyond: float) -> float:
        """Return the share of a group whose excess equals the bound.

        >>> GroupCounts((0, 0, 0, 0)).share_beyond(0.5)
        0.625
        """
        even = 1.0 / len(self.shown)
        return even + beyond * (1.0 - even)


Seen = Counts | GroupCounts
"""The counts of one combination. Each direction of bias has a value, which is a score or a group's
share, and an excess, which is 0 for even groups and 1 if all images show that direction."""
Measure = Callable[[Mapping[Parts, range]], Mapping[Parts, Seen]]
"""A function that makes the images with these numbers of each combination, and counts them."""


@lru_cache(maxsize=4096)
def _tail(k: int, n: int, share: float) -> float:
    return float(scipy.stats.beta.sf(share, k + 0.5, n - k + 0.5))


def proper_parts(parts: Parts) -> Iterator[Parts]:
    """Yield every combination of some but not all of the words, the smallest first."""
    for size in range(1, len(parts)):
        yield from combinations(parts, size)


def without_one(parts: Parts) -> list[Parts]:
    """Return the combinations of all words but one; [] for a single word."""
    return [] if len(parts) == 1 else list(combinations(parts, len(parts) - 1))


def names(parts: Parts) -> str:
    """Return the words of a combination as one text.

    >>> from pytest_t2i import axes
    >>> names((Part(axes.object, "cup"), Part(axes.place, "hospital")))
    'cup + hospital'
    """
    return " + ".join(part.concept for part in parts)
