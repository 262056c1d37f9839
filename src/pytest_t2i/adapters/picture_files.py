"""Decode users' picture files as a viewer shows them: upright, on white, with all bits.

This module is separate from black_or_unreadable, which detectors import, as a change of file
decoding must not change the detectors' fingerprints.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_t2i.adapters.black_or_unreadable import picture_digest, refusing_cut_files
from pytest_t2i.read_files import PICTURE, content_of

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
"""Formats of pictures from outside. Pillow knows more, but starts another program for EPS."""
STORED = ("PNG",)
"""Formats of pictures that a store holds."""
READING = 2
"""Version of the decoding; increase it by one when files are decoded to other pixels."""
SIXTEEN_BITS = 257
"""Ratio of the value of white in 16 bits to that in 8 bits."""


def picture_in(source: bytes | Path) -> Image | None:
    """The (first) picture of a file as RGB; None where there is none.

    A missing file, or one that is no regular file, has none.

    The picture is turned by its EXIF orientation, transparency becomes white, and grey of 16 bits
    is scaled to 8 bits. Pixels of 32 bits or floats, and pictures larger than
    ``PIL.Image.MAX_IMAGE_PIXELS``, are not accepted.

    >>> picture_in(b"no picture") is None
    True
    """
    return _or_none(lambda: _opened(source))


def picture_of(image: Image) -> Image | None:
    """The same for a picture that a library has opened and perhaps not read yet."""
    return _or_none(lambda: _as_shown(image) if image.format in (None, *FORMATS) else None)


def stored_picture(content: bytes) -> Image | None:
    """The pixels of a PNG that a store holds, as RGB; None where they cannot be decoded.

    >>> stored_picture(b"no picture") is None
    True
    """
    from PIL import Image as Images

    return _or_none(lambda: Images.open(io.BytesIO(content), formats=STORED).convert("RGB"))


def _opened(source: bytes | Path) -> Image | None:
    from PIL import Image as Images

    file = io.BytesIO(source) if isinstance(source, bytes) else source
    # Reading from a pipe or a device would wait.
    if isinstance(file, Path) and not file.is_file():
        return None
    Images.init()  # fills Images.OPEN
    formats = [name for name in FORMATS if name in Images.OPEN]
    with Images.open(file, formats=formats) as image:
        return _as_shown(image)


def _or_none(reader: Callable[[], Image | None]) -> Image | None:
    """Return what is read; None for any exception, as each decoder raises its own."""
    try:
        with refusing_cut_files():
            return reader()
    except Exception:  # noqa: BLE001 - RuntimeError of AVIF, warnings where they are errors, ...
        return None


def why_unreadable(path: Path) -> str:
    """Return what a file without a readable picture is, and what to do; "" where that is unknown.

    >>> why_unreadable(Path("nowhere.png"))
    ''
    """
    content = content_of(path)
    return f"{content.name}, convert it to PNG or JPEG" if content.kind == PICTURE else content.name


def _as_shown(image: Image) -> Image | None:
    from PIL import Image as Images
    from PIL import ImageOps

    most = Images.MAX_IMAGE_PIXELS
    if not image.width or not image.height or (most and image.width * image.height > most):
        return None
    if image.mode in ("I", "F"):
        return None
    image.load()
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I;16"):
        return _eight_bits(upright).convert("RGB")
    return _on_white(upright) if upright.has_transparency_data else upright.convert("RGB")


def _eight_bits(image: Image) -> Image:
    import numpy as np
    from PIL import Image as Images

    return Images.fromarray((np.asarray(image) // SIXTEEN_BITS).astype(np.uint8))


def _on_white(image: Image) -> Image:
    from PIL import Image as Images

    layer = image.convert("RGBA")
    white = Images.new("RGBA", layer.size, "white")
    return Images.alpha_composite(white, layer).convert("RGB")


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


CHUNK = "pytest-t2i"
"""Keyword of the text chunk."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
FRAME = 12
"""Number of bytes of a chunk besides its content: length, kind, checksum."""


def without_origin(content: bytes) -> bytes:
    """The content of a PNG file without the text chunk of its origin; other files unchanged.

    So a picture is recognised by its content, with or without its origin.

    >>> without_origin(b"no png")
    b'no png'
    """
    if not content.startswith(SIGNATURE):
        return content
    mark = CHUNK.encode() + b"\0"
    ours = [
        (start, end)
        for start, end, kind in _chunks(content)
        if kind == b"iTXt" and content.startswith(mark, start + 8)
    ]
    for start, end in reversed(ours):
        content = content[:start] + content[end:]
    return content


def _chunks(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    place = len(SIGNATURE)
    while place + FRAME <= len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        end = place + FRAME + length
        yield place, end, content[place + 4 : place + 8]
        place = end
