"""Images and arrays as a store takes them, and as its index knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.data import Generated, Request, Undetected

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class StoredImage:
    """What the index says of one image."""

    key: str
    file: Path | None
    """None when the model refused to make it."""
    sha256: str | None
    black: bool
    """Whether every pixel is black (a safety checker's doing)."""
    refusal: str | None

    @property
    def undetected(self) -> Undetected | None:
        """Why no detector need look at it."""
        if self.file is None:
            broken = (self.refusal or "").startswith(Undetected.UNREADABLE)
            return Undetected.UNREADABLE if broken else Undetected.REFUSED
        return Undetected.BLACK_IMAGE if self.black else None


@dataclass(frozen=True, slots=True)
class StoredArray:
    """What the index says of one trace or feature."""

    key: str
    name: str
    file: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class NewImage:
    """One image to be stored."""

    key: str
    model: str
    request: Request
    generated: Generated
    black: bool
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Traces of its making, by name; an empty one says that the model does not show it."""

    @property
    def revised_prompt(self) -> str | None:
        """What the service says that it drew, as it can be written; None without a picture."""
        drawn = self.generated.revised_prompt
        if drawn is None or self.generated.image is None:
            return None
        return drawn.encode(errors="backslashreplace").decode()
