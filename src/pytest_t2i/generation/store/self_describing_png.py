"""PNG files with their origin as metadata, from which a lost index can be rebuilt."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from pytest_t2i.adapters.black_or_unreadable import refusing_cut_files
from pytest_t2i.adapters.picture_files import CHUNK, STORED, without_origin

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.PngImagePlugin import PngImageFile

MOST_TEXT = 1 << 20
"""Largest number of bytes of a text chunk that Pillow opens."""


@dataclass(frozen=True, slots=True)
class PictureOrigin:
    """Model, prompt, seed and settings of a picture, as the index has them."""

    key: str
    model: str
    """Fingerprint of the model."""
    prompt: str
    seed: int
    settings: Mapping[str, Any]
    """The fields of ``GenerationSettings``."""
    black: bool
    revised_prompt: str | None = None
    """The service's revised prompt; None where it reports none."""


def encode(image: Image, origin: PictureOrigin) -> bytes:
    """A PNG with its origin in a text chunk; equal pictures of equal origin give equal bytes."""
    from PIL.PngImagePlugin import PngInfo

    chunks, text = PngInfo(), msgspec.json.encode(origin)
    if len(text) <= MOST_TEXT:  # nobody could open a picture with a longer one
        chunks.add_itxt(CHUNK, text.decode(), zip=True)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1, pnginfo=chunks)
    return buffer.getvalue()


def read_origin(content: bytes) -> tuple[PictureOrigin, tuple[int, int]] | None:
    """Origin and size of an intact picture that ``encode`` wrote; None for any other file."""
    from PIL import Image

    try:
        with refusing_cut_files(), Image.open(io.BytesIO(content), formats=STORED) as image:
            image.load()
            text = cast("PngImageFile", image).text.get(CHUNK, "")
            return msgspec.json.decode(text.encode(), type=PictureOrigin), image.size
    except (OSError, ValueError, SyntaxError, RecursionError, Image.DecompressionBombError):
        return None


def nameless(file: Path) -> bytes:
    """The content of a picture file without its origin.

    People who label pictures must not be able to read the prompt in them.
    """
    return without_origin(file.read_bytes())
