"""Check the picture that a model returned, before it is stored and detected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.support.black_or_unreadable import gate
from pytest_t2i.data import Generated, Request, Undetected
from pytest_t2i.errors import GenerationError

if TYPE_CHECKING:
    from PIL.Image import Image

MODES = ("RGB", "L", "RGBA", "P", "1")
"""Pillow's modes that become RGB without losing what they show."""


def picture_of(request: Request, generated: Generated, model: str) -> Image | Undetected:
    """The picture for detectors, or why there is none; GenerationError for anything else."""
    image: Any = generated.image
    if image is None:
        return Undetected.REFUSED
    if not all(hasattr(image, name) for name in ("convert", "size", "mode")):
        expected = "a PIL picture, or None for a refusal"
    elif image.mode not in MODES or not all(image.size):
        expected = f"a picture of mode {' or '.join(MODES)} with at least one pixel"
    else:
        return _decoded(image)
    given = f"{type(image).__name__} {getattr(image, 'mode', '')} {getattr(image, 'size', '')}"
    raise GenerationError(
        f"model {model!r}: expected {expected}, got {given.strip()} for "
        f"{request.prompt!r}, seed {request.seed}"
    )


def _decoded(image: Image) -> Image | Undetected:
    """Return the picture as detectors get it; a model may give one that is not read yet."""
    try:
        return gate(image)
    except Exception:  # noqa: BLE001 - each decoder of Pillow raises its own
        return Undetected.UNREADABLE
