"""Base classes of face detectors: pictures are scaled and searched one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.adapters.cores import on_cores
from pytest_t2i.adapters.finders.locating import Finder
from pytest_t2i.adapters.finders.packaged import NAME, packaged
from pytest_t2i.adapters.finders.scaling import (
    FAIRFACE_CONFIDENCE,
    FAIRFACE_LONGEST,
    FAIRFACE_UPSAMPLING,
    Fitted,
    fitted,
)
from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError

if TYPE_CHECKING:
    from PIL.Image import Image


class FaceFinder(Finder):
    """Base class of a FaceDetector."""

    needs_device = False
    """Whether the search runs on the device that makes images; else it runs on the cores."""

    def __init__(self, facts: Mapping[str, str], longest: int | None) -> None:
        """Args: facts of the fingerprint, and the longer side in pixels to scale to, or None."""
        super().__init__({**facts, "longest side": str(longest or "as it is")})
        self._longest = longest

    def faces(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The faces of every picture, in its own pixels, the largest first."""
        return self.find(images)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        if self.needs_device:
            return [self._faces_in(fitted(image, self._longest)) for image in images]
        return on_cores(lambda image: self._faces_in(fitted(image, self._longest)), images)

    @abstractmethod
    def _faces_in(self, picture: Fitted) -> list[Box]:
        """The faces of one picture."""


@dataclass(frozen=True, slots=True)
class CnnSettings:
    """Settings of dlib's CNN; the defaults are those of FairFace."""

    confidence: float = FAIRFACE_CONFIDENCE
    """Least score of a face; scores above 1 are confident."""
    upsampling: int = FAIRFACE_UPSAMPLING
    """Number of times that a picture is doubled before the search."""
    longest: int | None = FAIRFACE_LONGEST
    """Longer side in pixels to which a picture is scaled first; None for no scaling."""


class CnnFinder(FaceFinder):
    """Base class of detectors with the network of mmod_human_face_detector.dat: upright boxes."""

    def __init__(
        self, name: str, weights: Path, settings: CnnSettings, library: Mapping[str, str]
    ) -> None:
        """Args: name of the detector, weights file, settings, and version of the library."""
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
    """Path of the network's file; "" stands for that of the package face_recognition_models."""
    path = Path(source).expanduser() if source else packaged()
    if not path.is_file():
        raise ModelLoadError(f"the file {path} does not exist. Give the path of {NAME}.")
    return path
