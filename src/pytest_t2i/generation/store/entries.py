"""Records of images and arrays: new ones to be stored, and stored ones."""

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
    """One stored image."""

    key: str
    file: Path | None
    """None when the model refused to make it."""
    sha256: str | None
    black: bool
    """Whether every pixel is black, as safety checkers leave a picture."""
    refusal: str | None
    size: tuple[int, int] = (0, 0)
    """Width and height in pixels."""

    @property
    def undetected(self) -> Undetected | None:
        """Why the image needs no detector; None where it needs one."""
        if self.file is None:
            broken = (self.refusal or "").startswith(Undetected.UNREADABLE)
            return Undetected.UNREADABLE if broken else Undetected.REFUSED
        return Undetected.BLACK_IMAGE if self.black else None


@dataclass(frozen=True, slots=True)
class StoredArray:
    """One stored trace or feature."""

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
    """Traces by name; an empty array records that the model does not give this trace."""

    @property
    def revised_prompt(self) -> str | None:
        """The service's revised prompt as valid UTF-8; None where there is none, or no picture."""
        drawn = self.generated.revised_prompt
        if drawn is None or self.generated.image is None:
            return None
        return drawn.encode(errors="backslashreplace").decode()
