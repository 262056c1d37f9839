"""Base classes of face and person detectors: cached boxes, the largest first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pytest_t2i.adapters.black_or_unreadable import readable
from pytest_t2i.adapters.picture_files import PictureMemory, in_batches
from pytest_t2i.data import Box, digest

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
_made: dict[Hashable, Any] = {}
_lock = RLock()


class Described:
    """A component whose fingerprint is the hash of readable facts."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        """Args: all that changes its results: weights, thresholds, number format, libraries."""
        self._facts = dict(facts)

    @cached_property
    def fingerprint(self) -> str:
        return digest(self._facts)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint."""
        return dict(self._facts)


class Finder(Described, ABC):
    """A face or person detector that caches boxes by a picture's pixels for several detectors."""

    batch = 16
    """Number of pictures passed to the library at once."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        super().__init__(facts)
        self._memory: PictureMemory[tuple[Box, ...]] = PictureMemory()

    @abstractmethod
    def _find(self, images: Sequence[Image]) -> Sequence[Sequence[Box]]:
        """The boxes of at most ``batch`` RGB pictures, in any order within a picture."""

    def find(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The boxes of every picture, the largest first; none for a picture that cannot be read."""
        pictures = [readable(image) for image in images]
        boxes = iter(self._memory.of([p for p in pictures if p is not None], self._sorted))
        return [() if picture is None else next(boxes) for picture in pictures]

    def _sorted(self, pictures: Sequence[Image]) -> list[tuple[Box, ...]]:
        return [largest_first(boxes) for boxes in in_batches(pictures, self.batch, self._find)]


def largest_first(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Sort boxes by decreasing area, those of equal area by decreasing score.

    >>> [box.area for box in largest_first([Box(0, 0, 1, 1), Box(0, 0, 2, 2)])]
    [4, 1]
    """
    return tuple(sorted(boxes, key=lambda box: (-box.area, -box.score, box.left, box.top)))


def shared(key: Hashable, make: Callable[[], T]) -> T:
    """The result of ``make``, which is called once per process and key."""
    with _lock:
        if key not in _made:
            _made[key] = make()
        return cast("T", _made[key])
