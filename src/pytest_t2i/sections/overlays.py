"""Pictures with an overlay of a region and of attention: frozen data without rendering."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.data import Mask
from pytest_t2i.sections.level import Level


@dataclass(frozen=True, slots=True)
class Overlay:
    """A picture with a region outlined, darkened where the model's attention was low."""

    file: str | None
    """Path of the image; None without an image. Records declare it as a ``PicturePath``, by which
    the pictures of a run are found."""
    region: Mask
    """Outlined region."""
    attention: Mask
    """Region that stays bright."""
    words: tuple[str, ...]
    """Lines below the picture, the first one in bold."""
    alternative: str
    """Text alternative for screen readers."""


@dataclass(frozen=True, slots=True)
class Overlays:
    """The pictures with overlays side by side, which only the page shows.

    >>> whole = Mask(1, 1, (0, 1))
    >>> Overlays((Overlay("a.png", whole, whole, ("tie",), "a tie"),)).level
    'page'
    """

    pictures: tuple[Overlay, ...]
    level: Level = "page"
