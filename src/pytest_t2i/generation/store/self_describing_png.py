"""Pictures as PNG files that say what they are of: a store without its index is not lost."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from pytest_t2i.adapters.support.png import CHUNK, without_origin

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.PngImagePlugin import PngImageFile

MOST_TEXT = 1 << 20
"""Characters of a text chunk that are read."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a picture is of: all that the index says of it, but for its file."""

    key: str
    model: str
    """Fingerprint of the model."""
    prompt: str
    seed: int
    settings: Mapping[str, Any]
    """The fields of ``GenerationSettings``."""
    black: bool
    revised_prompt: str | None = None
    """What the service says that it drew; None where it does not say."""


def encode(image: Image, origin: Origin) -> bytes:
    """A PNG with its origin in a text chunk; equal pictures of equal origin are equal bytes."""
    from PIL.PngImagePlugin import PngInfo

    facts = msgspec.to_builtins(origin)
    if origin.revised_prompt is None:
        # As before there were any: the same picture keeps its bytes.
        del facts["revised_prompt"]
    chunks = PngInfo()
    chunks.add_itxt(CHUNK, msgspec.json.encode(facts).decode(), zip=True)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1, pnginfo=chunks)
    return buffer.getvalue()


def read_origin(content: bytes) -> tuple[Origin, tuple[int, int]] | None:
    """Origin and size of an undamaged picture of ours; None for anything else."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            image.load()
            text = cast("PngImageFile", image).text.get(CHUNK, "")
            return msgspec.json.decode(text[:MOST_TEXT], type=Origin), image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def nameless(file: Path) -> bytes:
    """The picture in a file without the text that says what it is of.

    Who labels pictures must not be able to read the prompt in them.
    """
    return without_origin(file.read_bytes())
