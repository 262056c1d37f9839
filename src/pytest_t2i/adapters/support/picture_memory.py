"""Cache results by a picture's pixels, so that several detectors share the work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_t2i.adapters.support.black_or_unreadable import picture_digest

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
Item = TypeVar("Item")
MOST = 4096
"""Number of pictures whose results are cached: 12 MB for CLIP's 768 dimensions."""


class PictureMemory(Generic[T]):
    """A cache of results by picture, which drops the least recently used ones."""

    def __init__(self, most: int = MOST) -> None:
        """Args: the number of pictures whose results are cached."""
        self._finds: OrderedDict[bytes, T] = OrderedDict()
        self._most = most

    def __len__(self) -> int:
        return len(self._finds)

    def of(self, images: Sequence[Image], look: Callable[[list[Image]], Sequence[T]]) -> list[T]:
        """The result of every picture; ``look`` is called with the new ones, each once.

        >>> from PIL import Image
        >>> memory, red = PictureMemory(), Image.new("RGB", (2, 1), "red")
        >>> memory.of([red, red.copy()], lambda images: [image.size for image in images])
        [(2, 1), (2, 1)]
        >>> memory.of([red], lambda images: 1 / 0 if images else [])
        [(2, 1)]
        """
        names = [picture_digest(image) for image in images]
        new = {n: i for n, i in zip(names, images, strict=True) if n not in self._finds}
        if new:
            self._finds.update(zip(new, look(list(new.values())), strict=True))
        finds = [self._finds[name] for name in names]
        for name in names:
            self._finds.move_to_end(name)
        while len(self._finds) > self._most:
            self._finds.popitem(last=False)
        return finds


def in_batches(
    items: Sequence[Item], size: int, look: Callable[[Sequence[Item]], Iterable[T]]
) -> list[T]:
    """The results of ``look`` for all items, which are passed to it in batches.

    >>> in_batches("abcde", 2, lambda part: [part] * len(part))
    ['ab', 'ab', 'cd', 'cd', 'e']
    """
    parts = (items[start : start + size] for start in range(0, len(items), size))
    return [find for part in parts for find in look(part)]
