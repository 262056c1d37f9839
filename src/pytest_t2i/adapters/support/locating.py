"""What finders of faces and people have in common: a picture looked at once, largest first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_t2i.adapters.support.decoding import picture_digest, readable
from pytest_t2i.data import Box, digest

if TYPE_CHECKING:
    from PIL.Image import Image

REMEMBERED = 4096
"""Pictures whose boxes are kept."""

T = TypeVar("T")
_made: dict[Hashable, Any] = {}
_lock = RLock()


class Finder(ABC):
    """Boxes of every picture, kept by its pixels, so that several detectors share the work."""

    batch = 16
    """Pictures that go through the library at once."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = dict(facts)
        self._known: OrderedDict[bytes, tuple[Box, ...]] = OrderedDict()

    @abstractmethod
    def _find(self, images: Sequence[Image]) -> Sequence[Sequence[Box]]:
        """The boxes of at most ``batch`` RGB pictures, in any order within a picture."""

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights, thresholds and libraries."""
        return digest(self._facts)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return dict(self._facts)

    def find(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The boxes of every picture, the largest first; none for one that cannot be read."""
        pictures = [readable(image) for image in images]
        names = [picture_digest(one) if one else b"" for one in pictures]
        found: dict[bytes, tuple[Box, ...]] = {n: self._known[n] for n in names if n in self._known}
        found[b""] = ()
        missing = {n: p for n, p in zip(names, pictures, strict=True) if p and n not in found}
        queue = list(missing.items())
        for start in range(0, len(queue), self.batch):
            part = queue[start : start + self.batch]
            boxes = self._find([picture for _, picture in part])
            found |= {n: largest_first(b) for (n, _), b in zip(part, boxes, strict=True)}
        self._known.update({name: found[name] for name in missing})
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return [found[name] for name in names]


def largest_first(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Boxes by falling area; of equal ones the surer first.

    >>> [box.area for box in largest_first([Box(0, 0, 1, 1), Box(0, 0, 2, 2)])]
    [4, 1]
    """
    return tuple(sorted(boxes, key=lambda box: (-box.area, -box.score, box.left, box.top)))


def shared(key: Hashable, make: Callable[[], T]) -> T:
    """What ``make`` gives, made once in a process for this key."""
    with _lock:
        if key not in _made:
            _made[key] = make()
        found: T = _made[key]
        return found
