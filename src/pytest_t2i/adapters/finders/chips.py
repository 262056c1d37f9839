"""Face chips: the largest face, upright and cropped, as input of FairFace (predict.py).

The picture's longer side is scaled to 800 pixels, a face is detected (by FairFace with dlib's CNN
and one upsampling), the eyes are turned level by five landmarks, and a square of 300 pixels is
cropped with a quarter of padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_t2i.adapters.finders.packaged import packaged
from pytest_t2i.adapters.finders.scaling import FAIRFACE_LONGEST, fitted
from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import FaceDetector

with needs("dlib's face chips", "faces"):
    import dlib

if TYPE_CHECKING:
    from PIL.Image import Image

LANDMARKS = "shape_predictor_5_face_landmarks.dat"
SIZE = 300
"""Side of a chip in pixels."""
PADDING = 0.25
"""Padding around the face, as a share of the face's size."""


Chip = tuple[np.ndarray, int]
"""The largest face of a picture, RGB, uint8 [SIZE, SIZE, 3]; and the picture's number of faces."""


class Chips:
    """Crops the largest face of every picture."""

    def __init__(self, faces: FaceDetector, landmarks: Path | None = None) -> None:
        """Read the landmark model."""
        path = landmarks or packaged(LANDMARKS)
        if not path.is_file():
            raise ModelLoadError(f"the file {path} does not exist. Give the path of {LANDMARKS}.")
        try:
            self._predictor = dlib.shape_predictor(str(path))
        except RuntimeError as error:
            raise ModelLoadError(
                f"{path}: expected {LANDMARKS}, got another file ({error}). Give its path."
            ) from error
        self.finder = faces
        self._landmarks = f"sha256:{file_digest(path)}"

    @property
    def facts(self) -> Mapping[str, str]:
        cut = f"{SIZE} px, padding {PADDING}, longest side {FAIRFACE_LONGEST}"
        return {
            **getattr(self.finder, "provenance", {}),
            "finder": self.finder.fingerprint,
            "landmarks": self._landmarks,
            "chips": cut,
        }

    def largest(self, images: Sequence[Image]) -> list[Chip | None]:
        """The largest face of every picture; None where there is no face."""
        return [
            (self._cut(image, boxes[0]), len(boxes)) if boxes else None
            for image, boxes in zip(images, self.finder.faces(images), strict=True)
        ]

    def each(self, images: Sequence[Image]) -> list[list[np.ndarray]]:
        """The pixels of every face of every picture, the largest first."""
        return [
            [self._cut(image, box) for box in boxes]
            for image, boxes in zip(images, self.finder.faces(images), strict=True)
        ]

    def _cut(self, image: Image, box: Box) -> np.ndarray:
        picture = fitted(image, FAIRFACE_LONGEST)
        # A dlib rectangle includes its last pixel; a box ends at the edge after it.
        corners = (
            round(box.left * picture.wider),
            round(box.top * picture.higher),
            round(box.right * picture.wider) - 1,
            round(box.bottom * picture.higher) - 1,
        )
        shape = self._predictor(picture.pixels, dlib.rectangle(*corners))
        chip: np.ndarray = dlib.get_face_chip(picture.pixels, shape, size=SIZE, padding=PADDING)
        return chip
