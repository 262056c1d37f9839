"""Faces by MTCNN (Zhang et al. 2016) through facenet-pytorch, whose wheel contains the weights.

The package pins an old torch and numpy that it does not need, so install it without dependencies:
``pip install --no-deps facenet-pytorch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.devices import memory_guard, pick_device
from pytest_t2i.adapters.finders.face_finder import FaceFinder
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.scaling import Fitted, fitted
from pytest_t2i.adapters.identity import folder_digest
from pytest_t2i.data import Box
from pytest_t2i.errors import ConfigurationError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

try:
    import facenet_pytorch
    import numpy as np
    from facenet_pytorch import MTCNN
except ModuleNotFoundError as missing:
    if missing.name != "facenet_pytorch":
        raise
    # An extra cannot express --no-deps, so the message does.
    raise ConfigurationError(
        "the face detector mtcnn needs the package 'facenet_pytorch', which is not installed. "
        "Run: pip install --no-deps facenet-pytorch (it pins an old torch that it does not need)"
    ) from None

if TYPE_CHECKING:
    from PIL.Image import Image

THRESHOLDS = (0.6, 0.7, 0.7)
"""Least probability in each of the three networks; the library's defaults."""
SMALLEST = 20
"""Least side of a face in pixels; the library's default."""


def load(options: LoadOptions) -> MtcnnFaces:
    """Load MTCNN, once per device in a process.

    Raises:
        ConfigurationError: facenet-pytorch is not installed, or there is no such device.
        ModelLoadError: weights were given; there are none to choose.
    """
    if options.source:
        raise ModelLoadError(
            f"expected mtcnn alone, as it has no weights to choose, got mtcnn:{options.source}. "
            "Leave out what stands behind the colon."
        )
    device = str(pick_device(options.device))
    return shared(("mtcnn", device), lambda: MtcnnFaces(device=device))


class MtcnnFaces(FaceFinder):
    """A FaceDetector of boxes with probability and five landmarks.

    Landmarks: left eye, right eye, nose, left and right mouth corner; left and right are those of
    the picture.
    """

    def __init__(
        self,
        *,
        thresholds: tuple[float, float, float] = THRESHOLDS,
        smallest: int = SMALLEST,
        longest: int | None = None,
        device: str = "cpu",
    ) -> None:
        """Prepare the three networks."""
        self._smallest, self.needs_device = smallest, device != "cpu"
        with memory_guard("loading MTCNN"):
            self._network = MTCNN(
                keep_all=True, thresholds=list(thresholds), min_face_size=smallest, device=device
            )
        folder = Path(facenet_pytorch.__file__).parent / "data"
        super().__init__(
            {
                "faces": "mtcnn",
                "weights": f"sha256:{folder_digest(folder, ['.pt'])}",
                "thresholds": str(thresholds),
                "smallest": str(smallest),
            },
            longest,
        )

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        pictures = [fitted(image, self._longest) for image in images]
        return [boxes for alike in _same_size(pictures) for boxes in self._faces_in_all(alike)]

    def _faces_in(self, picture: Fitted) -> list[Box]:
        return next(self._faces_in_all([picture]))

    def _faces_in_all(self, pictures: Sequence[Fitted]) -> Iterator[list[Box]]:
        if min(pictures[0].pixels.shape[:2]) < self._smallest:
            # The pyramid would have no level, at which the library fails.
            yield from ([] for _ in pictures)
            return
        with memory_guard("looking for faces"):
            pixels = np.stack([picture.pixels for picture in pictures])
            answers = self._network.detect(pixels, landmarks=True)
        for picture, boxes, scores, points in zip(pictures, *answers, strict=True):
            yield [] if boxes is None else _boxes(picture, boxes, scores, points)


def _same_size(pictures: Sequence[Fitted]) -> Iterator[list[Fitted]]:
    for _, alike in groupby(pictures, key=lambda picture: picture.pixels.shape):
        yield list(alike)


def _boxes(picture: Fitted, boxes: Any, scores: Any, points: Any) -> list[Box]:
    faces = []
    for corners, score, five in zip(boxes, scores, points, strict=True):
        left, top, right, bottom = (float(value) for value in corners)
        landmarks = tuple((float(x), float(y)) for x, y in five)
        faces.append(picture.box((left, top, right, bottom), float(score), landmarks))
    return faces
