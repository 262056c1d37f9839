"""Pictures with what was measured on them laid over: frozen data, no rendering."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.data import Mask
from pytest_t2i.sections.level import Level


@dataclass(frozen=True, slots=True)
class Overlay:
    """A picture with a region outlined, and dark where it was not attended to."""

    file: str | None
    """Path of the image; None where there is none. In a record it is a ``PicturePath``, so that it
    is looked for where the pictures of a run lie."""
    region: Mask
    """What is outlined."""
    attention: Mask
    """What stays bright."""
    words: tuple[str, ...]
    """Lines below it, the first one in bold."""
    alternative: str
    """What it shows, for who does not see it."""


@dataclass(frozen=True, slots=True)
class Overlays:
    """Such pictures side by side; they stand on the page alone.

    >>> whole = Mask(1, 1, (0, 1))
    >>> Overlays((Overlay("a.png", whole, whole, ("tie",), "a tie"),)).level
    'page'
    """

    pictures: tuple[Overlay, ...]
    level: Level = "page"
