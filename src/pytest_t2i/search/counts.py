"""What the images of one combination show, and what that promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from scipy import stats

from pytest_t2i.prompts import Part

Parts = tuple[Part, ...]
"""A combination: words of different axes, in the order of the axes."""


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

    def lean(self, sign: int) -> float:
        """The score in a direction, drawn to 0 where it rests on few images."""
        return sign * (self.male - self.female) / (self.clear + 2)

    def promise(self, sign: int, beyond: float) -> float:
        """Chance that the score lies beyond a bound in a direction, before other evidence.

        Of the share's Jeffreys posterior Beta(k + 1/2, n - k + 1/2). No clear image, no promise.

        >>> round(Counts(4, 0, 4).promise(1, 0.5), 2), round(Counts(3, 1, 4).promise(1, 0.5), 2)
        (0.88, 0.46)
        """
        if not self.clear:
            return 0.0
        return _tail(self.male if sign > 0 else self.female, self.clear, (1.0 + beyond) / 2.0)


Measure = Callable[[Mapping[Parts, range]], Mapping[Parts, Counts]]
"""Has images of these numbers made of each combination and says what they show."""


@lru_cache(maxsize=4096)
def _tail(k: int, n: int, share: float) -> float:
    return float(stats.beta.sf(share, k + 0.5, n - k + 0.5))


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
