"""Faces by dlib's CNN (max-margin object detection, King 2015), the face filter of FairFace.

``pip install "pytest-t2i[faces]" face_recognition_models``: the first brings dlib, the second the
file mmod_human_face_detector.dat (CC0). The package of the weights is found and never imported,
since its code needs an old setuptools.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.adapters.support.locating import Finder, shared
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import LoadOptions

with needs("dlib's face detectors", "faces"):
    import dlib

if TYPE_CHECKING:
    from PIL.Image import Image


def load(options: LoadOptions) -> CnnFaces:
    """The CNN detector of dlib with the settings of FairFace, one per weights in a process.

    Args:
        options: ``source`` is the path of mmod_human_face_detector.dat; "" takes the one of the
            package face_recognition_models.

    Raises:
        MissingExtraError: dlib or face_recognition_models is not installed.
        ModelLoadError: there is no such file, or it holds something else.
    """
    weights = Path(options.source).expanduser() if options.source else packaged(NAME)
    return shared(("dlib-cnn", weights), lambda: CnnFaces(weights))


class CnnFaces(Finder):
    """Upright boxes without landmarks; obeys FaceDetector."""

    def __init__(
        self,
        weights: Path,
        *,
        confidence: float = FAIRFACE_CONFIDENCE,
        upsampling: int = FAIRFACE_UPSAMPLING,
        longest: int | None = FAIRFACE_LONGEST,
    ) -> None:
        """Read the weights.

        Args:
            weights: mmod_human_face_detector.dat.
            confidence: Least score of a face; above 1 for a sure one.
            upsampling: Times that a picture is doubled before it is looked at.
            longest: Pixels that the longer side is brought to first; None leaves it.

        Raises:
            ModelLoadError: there is no such file, or it holds something else.
        """
        if not weights.is_file():
            raise ModelLoadError(f"there is no file {weights}. Give the path of {NAME}.")
        try:
            self._detector = dlib.cnn_face_detection_model_v1(str(weights))
        except RuntimeError as error:
            raise ModelLoadError(f"{weights} is not {NAME}: {error}".strip()) from error
        self._confidence, self._upsampling, self._longest = confidence, upsampling, longest
        super().__init__(
            {
                "faces": "dlib-cnn",
                "weights": f"sha256:{file_digest(weights)}",
                "confidence": str(confidence),
                "upsampling": str(upsampling),
                "longest side": str(longest or "as it is"),
                "dlib": dlib.__version__,
            }
        )

    def faces(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The faces of every picture, in its own pixels, the largest first."""
        return self.find(images)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        return [self._of_one(fitted(image, self._longest)) for image in images]

    def _of_one(self, picture: Fitted) -> list[Box]:
        found = [
            (one.rect, float(one.confidence))
            for one in self._detector(picture.pixels, self._upsampling)
        ]
        return [
            picture.box((at.left(), at.top(), at.right() + 1, at.bottom() + 1), score)
            for at, score in found
            if score >= self._confidence
        ]
