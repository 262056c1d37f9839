"""What was found out of a picture, kept by its pixels, so that several detectors share the work."""

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
"""Pictures that are remembered: of CLIP at 768 dimensions 12 MB."""


class PictureMemory(Generic[T]):
    """Finds of pictures; those that were not asked for longest are forgotten."""

    def __init__(self, most: int = MOST) -> None:
        """Args: how many pictures are remembered."""
        self._finds: OrderedDict[bytes, T] = OrderedDict()
        self._most = most

    def __len__(self) -> int:
        return len(self._finds)

    def of(self, images: Sequence[Image], look: Callable[[list[Image]], Sequence[T]]) -> list[T]:
        """The find of every picture; ``look`` is given those that are new, each once.

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
    """What ``look`` says of all items, a few at a time.

    >>> in_batches("abcde", 2, lambda part: [part] * len(part))
    ['ab', 'ab', 'cd', 'cd', 'e']
    """
    parts = (items[start : start + size] for start in range(0, len(items), size))
    return [find for part in parts for find in look(part)]
