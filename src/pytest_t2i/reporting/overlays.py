"""Pictures with an overlay: the region of an object and the attention of the model."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from pytest_t2i.adapters.support.picture_files import picture_in
from pytest_t2i.data import Mask
from pytest_t2i.reporting.thumbnails import data_uri
from pytest_t2i.sections import Overlay

SIDE = 240
"""Longest side in pixels."""
QUALITY = 80
DIMMED = 0.65
"""Share by which a picture is darkened outside of the attention."""
OUTLINE, INNER = (255, 255, 255), (20, 20, 20)


def overlay(shown: Overlay) -> str | None:
    """Return the data URI of a picture, dark without attention and with its region outlined.

    Returns None if the picture is absent or unreadable.
    """
    picture = picture_in(Path(shown.file)) if shown.file else None
    if picture is None:
        return None
    picture = _laid_over(picture, shown.attention, shown.region)
    content = io.BytesIO()
    picture.save(content, "WEBP", quality=QUALITY, method=6)
    return data_uri(content.getvalue())


def _laid_over(picture: Image.Image, attention: Mask, region: Mask) -> Image.Image:
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    elsewhere = _scaled(~attention.pixels(), picture.size)
    picture.paste((0, 0, 0), mask=elsewhere.point(lambda value: round(value * DIMMED)))
    return outlined(picture, region)


def outlined(picture: Image.Image, region: Mask) -> Image.Image:
    """Draw a dark and a light line around a region into the picture, and return it."""
    inside = _scaled(region.pixels(), picture.size).point(lambda value: 255 * (value > 127))  # noqa: PLR2004 - half
    for colour, width in ((OUTLINE, 5), (INNER, 3)):
        grown = inside.filter(ImageFilter.MaxFilter(width))
        edge = Image.fromarray(np.asarray(grown) & ~np.asarray(inside))
        picture.paste(colour, mask=edge)
    return picture


def _scaled(pixels: np.ndarray, size: tuple[int, int]) -> Image.Image:
    return Image.fromarray(pixels.astype(np.uint8) * 255).resize(size, Image.Resampling.BILINEAR)
