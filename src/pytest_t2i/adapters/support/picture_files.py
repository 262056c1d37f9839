"""Picture files of others, decoded as a viewer shows them: upright, on white, all their bits.

Beside black_or_unreadable, which detectors import: what a file holds is no matter of theirs.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
"""What is opened at all. Pillow knows more: for EPS it starts another program."""
READING = 2
"""Raised by one when a file is decoded to other pixels than before."""
SIXTEEN_BITS = 257
"""White of sixteen bits over white of eight."""


def picture_in(source: bytes | Path) -> Image | None:
    """The picture that a file holds as RGB, the first where it holds several; None for no picture.

    A file that is gone, and what is no ordinary file, holds none.

    Turned as its EXIF orientation says, laid on white where it is transparent, sixteen bits of
    grey scaled to eight. What has no such reading is no picture: numbers of 32 bits, floats, more
    pixels than Pillow takes for a picture (``PIL.Image.MAX_IMAGE_PIXELS``).

    >>> picture_in(b"no picture") is None
    True
    """
    return _or_none(lambda: _opened(source))


def picture_of(image: Image) -> Image | None:
    """The same of a picture that a library has opened and perhaps not read yet."""
    return _or_none(lambda: _as_shown(image) if image.format in (None, *FORMATS) else None)


def _opened(source: bytes | Path) -> Image | None:
    from PIL import Image as Images

    file = io.BytesIO(source) if isinstance(source, bytes) else source
    # A pipe or a device would be waited for.
    if isinstance(file, Path) and not file.is_file():
        return None
    Images.init()  # names of formats are known from here on
    known = [name for name in FORMATS if name in Images.OPEN]
    with Images.open(file, formats=known) as image:
        return _as_shown(image)


def _or_none(read: Callable[[], Image | None]) -> Image | None:
    from PIL import Image as Images

    try:
        return read()
    # Pillow warns of what it doubts, and where warnings are errors it raises them. Its readers of
    # single formats let through what damaged files make of their arithmetic.
    except (OSError, SyntaxError, ValueError, ArithmeticError, TypeError):
        return None
    except (EOFError, MemoryError, struct.error, zlib.error, Warning):
        return None
    except Images.DecompressionBombError:
        return None
    # ultralytics, where others imported it, wants a package for every picture that cannot be read.
    except ImportError:
        return None


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

    shown = image.convert("RGBA")
    white = Images.new("RGBA", shown.size, "white")
    return Images.alpha_composite(white, shown).convert("RGB")
