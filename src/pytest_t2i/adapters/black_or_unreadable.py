"""Decide without any model whether a picture is readable and whether it is black."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_t2i.data import Undetected

if TYPE_CHECKING:
    from PIL.Image import Image


_turn = threading.Lock()
_before: list[bool] = []
"""What Pillow was told before, once for each thread that decodes now."""


@contextmanager
def refusing_cut_files() -> Iterator[None]:
    """Let Pillow refuse a file whose end is missing, whatever a library has told it.

    WeasyPrint, for one, sets ``ImageFile.LOAD_TRUNCATED_IMAGES`` when it is imported. From then on
    Pillow fills in what is missing, and a broken picture would be judged.
    """
    from PIL import ImageFile

    with _turn:
        _before.append(_before[0] if _before else ImageFile.LOAD_TRUNCATED_IMAGES)
        ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        yield
    finally:
        with _turn:
            before = _before.pop()
            if not _before:
                ImageFile.LOAD_TRUNCATED_IMAGES = before


def is_black(image: Image) -> bool:
    """Whether every pixel is exactly 0, which is how safety checkers blacken a picture.

    >>> from PIL import Image
    >>> is_black(Image.new("RGB", (8, 8))), is_black(Image.new("RGB", (8, 8), (0, 0, 1)))
    (True, False)
    """
    return image.convert("RGB").getbbox() is None


def readable(image: Image | None) -> Image | None:
    """The picture as RGB with its pixels decoded; None where they cannot be decoded.

    Pillow reads pixels late: a truncated file opens without complaint and fails on first use.

    >>> from PIL import Image
    >>> readable(Image.new("L", (2, 2))).mode
    'RGB'
    """
    if image is None:
        return None
    try:
        with refusing_cut_files():
            picture = image.convert("RGB")
    except (OSError, SyntaxError, ValueError, EOFError):
        return None
    return picture if picture.width and picture.height else None


def picture_digest(image: Image) -> bytes:
    """16 bytes that are equal for pictures with equal pixels.

    >>> from PIL import Image
    >>> a, b = Image.new("RGB", (2, 1)), Image.new("RGB", (1, 2))
    >>> picture_digest(a) == picture_digest(a.copy()), picture_digest(a) == picture_digest(b)
    (True, False)
    """
    hasher = hashlib.blake2b(f"{image.mode}{image.size}".encode(), digest_size=16)
    hasher.update(image.tobytes())
    return hasher.digest()


def gate(image: Image | None) -> Image | Undetected:
    """The picture for detectors, or the reason why it needs none.

    Only this function decides that a picture is black or unreadable.

    >>> from PIL import Image
    >>> gate(Image.new("RGB", (8, 8))).value, gate(None).value
    ('black_image', 'unreadable')
    """
    picture = readable(image)
    if picture is None:
        return Undetected.UNREADABLE
    return Undetected.BLACK_IMAGE if is_black(picture) else picture
