"""What finders of faces have in common: pictures fitted to a size, looked at one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.adapters.finders.packaged import NAME, packaged
from pytest_t2i.adapters.finders.scaling import (
    FAIRFACE_CONFIDENCE,
    FAIRFACE_LONGEST,
    FAIRFACE_UPSAMPLING,
    Fitted,
    fitted,
)
from pytest_t2i.adapters.support.digests import file_digest
from pytest_t2i.adapters.support.locating import Finder
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError

if TYPE_CHECKING:
    from PIL.Image import Image


class FaceFinder(Finder):
    """Boxes of faces; obeys FaceDetector."""

    def __init__(self, facts: Mapping[str, str], longest: int | None) -> None:
        """Args: what changes its word, and the pixels that the longer side is brought to first."""
        super().__init__({**facts, "longest side": str(longest or "as it is")})
        self._longest = longest

    def faces(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The faces of every picture, in its own pixels, the largest first."""
        return self.find(images)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        return [self._faces_in(fitted(image, self._longest)) for image in images]

    @abstractmethod
    def _faces_in(self, picture: Fitted) -> list[Box]:
        """The faces of one picture."""


@dataclass(frozen=True, slots=True)
class CnnSettings:
    """How dlib's CNN looks at pictures; the defaults are those of FairFace."""

    confidence: float = FAIRFACE_CONFIDENCE
    """Least score of a face; above 1 for a sure one."""
    upsampling: int = FAIRFACE_UPSAMPLING
    """Times that a picture is doubled before it is looked at."""
    longest: int | None = FAIRFACE_LONGEST
    """Pixels that the longer side is brought to first; None leaves it."""


class CnnFinder(FaceFinder):
    """Upright boxes without landmarks by the network of mmod_human_face_detector.dat."""

    def __init__(
        self, name: str, weights: Path, settings: CnnSettings, library: Mapping[str, str]
    ) -> None:
        """Args: name of the part, its file, how it looks, and the version of what runs it."""
        super().__init__(
            {
                "faces": name,
                "weights": f"sha256:{file_digest(weights)}",
                "confidence": str(settings.confidence),
                "upsampling": str(settings.upsampling),
                **library,
            },
            settings.longest,
        )
        self._settings = settings


def cnn_weights(source: str | Path) -> Path:
    """The file of the network: a path, or "" for the one of the package face_recognition_models.

    Raises:
        MissingExtraError: the package is not installed.
        ModelLoadError: there is no such file.
    """
    path = Path(source).expanduser() if source else packaged()
    if not path.is_file():
        raise ModelLoadError(f"there is no file {path}. Give the path of {NAME}.")
    return path
