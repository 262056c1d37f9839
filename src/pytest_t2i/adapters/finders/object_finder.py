"""Base class of object detectors: cached objects, the largest first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_t2i.adapters.black_or_unreadable import readable
from pytest_t2i.adapters.finders.locating import Described
from pytest_t2i.adapters.picture_files import PictureMemory, in_batches
from pytest_t2i.data import FoundObject

if TYPE_CHECKING:
    from PIL.Image import Image

MOST = 256
"""Number of pictures whose objects, with masks, are cached."""


class ObjectFinderBase(Described, ABC):
    """Base class of an ObjectFinder that caches objects by a picture's pixels."""

    batch = 8
    """Number of pictures passed to the library at once."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        """Args: all that changes the objects found."""
        super().__init__(facts)
        self._memory: PictureMemory[tuple[FoundObject, ...]] = PictureMemory(MOST)

    @abstractmethod
    def _find(self, images: Sequence[Image]) -> Sequence[Sequence[FoundObject]]:
        """The objects of at most ``batch`` RGB pictures, in any order within a picture."""

    def objects(self, images: Sequence[Image]) -> list[tuple[FoundObject, ...]]:
        """The objects of every picture, the largest first; none where it cannot be read."""
        pictures = [readable(image) for image in images]
        objects = iter(self._memory.of([p for p in pictures if p is not None], self._sorted))
        return [() if picture is None else next(objects) for picture in pictures]

    def _sorted(self, pictures: Sequence[Image]) -> list[tuple[FoundObject, ...]]:
        return [_largest_first(objects) for objects in in_batches(pictures, self.batch, self._find)]


def _largest_first(objects: Sequence[FoundObject]) -> tuple[FoundObject, ...]:
    return tuple(
        sorted(objects, key=lambda o: (-o.box.area, -o.box.score, o.name, o.box.left, o.box.top))
    )
