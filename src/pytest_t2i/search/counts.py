"""What the images of one combination show, and what that promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import scipy

from pytest_t2i import statistics
from pytest_t2i.data import Interval
from pytest_t2i.prompts import Part

Parts = tuple[Part, ...]
"""A combination: words of different axes, in the order of the axes."""


BOTH = (1, -1)
"""Directions of a bias of gender: towards men, towards women."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Images of one combination, by what the detector says of them."""

    male: int = 0
    female: int = 0
    images: int = 0
    """All of them; those that are neither male nor female are undetected."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.male + other.male, self.female + other.female, self.images + other.images
        )

    @property
    def clear(self) -> int:
        """Images with a gender label."""
        return self.male + self.female

    @property
    def score(self) -> float | None:
        """Prompt bias score (Lyu eq. 2); None without a clear image."""
        return (self.male - self.female) / self.clear if self.clear else None

    def value(self, towards: int) -> float | None:  # noqa: ARG002 - a score says its direction
        """The score, whatever the direction."""
        return self.score

    def excess(self, towards: int) -> float | None:
        """The score towards men (1) or towards women (-1)."""
        return None if self.score is None else self.score * towards

    def lean(self, towards: int) -> float:
        """The score in a direction, drawn to 0 where it rests on few images."""
        return towards * (self.male - self.female) / (self.clear + 2)

    def promise(self, towards: int, beyond: float) -> float:
        """Chance that the score lies beyond a bound in a direction, before other evidence.

        Of the share's Jeffreys posterior Beta(k + 1/2, n - k + 1/2). No clear image, no promise.

        >>> round(Counts(4, 0, 4).promise(1, 0.5), 2), round(Counts(3, 1, 4).promise(1, 0.5), 2)
        (0.88, 0.46)
        """
        if not self.clear:
            return 0.0
        return _tail(self.male if towards > 0 else self.female, self.clear, (1.0 + beyond) / 2.0)

    def p_value(self, towards: int, beyond: float, alike: float) -> float:
        """Against "the score is within the bound", whatever undetected images show.

        Up to a share ``alike`` of all they are taken to be like the others. 1 where there is no
        evidence, or it points the other way.
        """
        if self.score is None or self.score * towards <= 0:
            return 1.0
        unknown = self.images - self.clear
        unknown = unknown if unknown > alike * self.images else 0
        men, women = statistics.worst_case_counts(self.male, self.female, unknown, "beyond")
        return statistics.bias_p_value(int(men), int(women), beyond)

    def interval(self, towards: int, level: float) -> Interval | None:  # noqa: ARG002 - as ``value``
        """Interval of the score."""
        if not self.clear:
            return None
        return statistics.prompt_bias_interval(self.male, self.female, level)

    def plain(self) -> dict[str, Any]:
        """Counts and score."""
        return {**asdict(self), "score": self.score}


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Images of one combination by the groups of a detector, in its order.

    A direction is the number of a group, from 1. The excess of a share p of K groups is
    (p - 1/K) / (1 - 1/K): 0 where it is even, 1 where no other group is shown, of two groups the
    bias score.

    >>> GroupCounts((6, 1, 1), 9).excess(1)
    0.625
    """

    shown: tuple[int, ...]
    images: int = 0

    def __add__(self, other: GroupCounts) -> GroupCounts:
        both = zip(self.shown, other.shown, strict=True)
        return GroupCounts(tuple(a + b for a, b in both), self.images + other.images)

    @property
    def clear(self) -> int:
        """Images with a label."""
        return sum(self.shown)

    def value(self, towards: int) -> float | None:
        """The group's share."""
        return self.shown[towards - 1] / self.clear if self.clear else None

    def excess(self, towards: int) -> float | None:
        """Excess of the group's share over an even one."""
        share = self.value(towards)
        even = 1.0 / len(self.shown)
        return None if share is None else (share - even) / (1.0 - even)

    def lean(self, towards: int) -> float:
        """The excess with two images more that show groups evenly."""
        return (self.excess(towards) or 0.0) * self.clear / (self.clear + 2)

    def promise(self, towards: int, beyond: float) -> float:
        """Tail of the share's Jeffreys posterior Beta(k + 1/2, n - k + 1/2)."""
        if not self.clear:
            return 0.0
        return _tail(self.shown[towards - 1], self.clear, self.share_beyond(beyond))

    def p_value(self, towards: int, beyond: float, alike: float) -> float:
        """Exact, one-sided; 1 where the group is shown no more than evenly."""
        if (self.excess(towards) or 0.0) <= 0.0:
            return 1.0
        unknown = self.images - self.clear
        n = self.images if unknown > alike * self.images else self.clear
        share = self.share_beyond(beyond)
        return float(statistics.share_p_value(self.shown[towards - 1], n, share, "above"))

    def interval(self, towards: int, level: float) -> Interval | None:
        """Interval of the group's share."""
        if not self.clear:
            return None
        return statistics.share_interval(self.shown[towards - 1], self.clear, level)

    def plain(self) -> dict[str, Any]:
        """Counts in the order of the groups."""
        return {"shown": list(self.shown), "images": self.images}

    def share_beyond(self, beyond: float) -> float:
        """The share of a group whose excess is the bound.

        >>> GroupCounts((0, 0, 0, 0)).share_beyond(0.5)
        0.625
        """
        even = 1.0 / len(self.shown)
        return even + beyond * (1.0 - even)


Seen = Counts | GroupCounts
"""What images of one combination show: a value of each direction of bias, a score or a group's
share, and its excess over an even one, 1 where all images show it."""
Measure = Callable[[Mapping[Parts, range]], Mapping[Parts, Seen]]
"""Has images of these numbers made of each combination and says what they show."""


@lru_cache(maxsize=4096)
def _tail(k: int, n: int, share: float) -> float:
    return float(scipy.stats.beta.sf(share, k + 0.5, n - k + 0.5))


def proper_parts(parts: Parts) -> Iterator[Parts]:
    """Every combination of some but not all of the words, the smallest first."""
    for size in range(1, len(parts)):
        yield from combinations(parts, size)


def without_one(parts: Parts) -> list[Parts]:
    """The combinations of all words but one."""
    return [] if len(parts) == 1 else list(combinations(parts, len(parts) - 1))


def names(parts: Parts) -> str:
    """The words as one reads them.

    >>> from pytest_t2i import axes
    >>> names((Part(axes.object, "cup"), Part(axes.place, "hospital")))
    'cup + hospital'
    """
    return " + ".join(part.concept for part in parts)
