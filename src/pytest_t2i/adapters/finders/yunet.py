"""Faces by YuNet (Wu et al. 2023) through OpenCV: a small network that is fast on a CPU.

The weights are one ONNX file of the OpenCV Zoo: run ``t2i detector fetch yunet``, or give
``yunet:PATH``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pytest_t2i.adapters.cores import EachThreads
from pytest_t2i.adapters.fetching import fetched, how_to_fetch
from pytest_t2i.adapters.finders.face_finder import FaceFinder
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

with needs("the face detector yunet", "yunet"):
    import cv2

CONFIDENCE = 0.6
"""Least score of a face; OpenCV's default of 0.9 misses turned and painted faces."""
OVERLAP = 0.3
"""Largest intersection over union of two boxes that are both kept; OpenCV's default."""
MOST = 5000
"""Largest number of boxes before overlapping ones are dropped; OpenCV's default."""


def load(options: LoadOptions) -> YunetFaces:
    """Load YuNet, once per weights in a process.

    Args:
        options: ``source`` is the path of the ONNX file; "" stands for that of
            ``t2i detector fetch yunet``.

    Raises:
        MissingExtraError: OpenCV is not installed.
        ModelLoadError: the weights are absent, or the file has other content.
    """
    weights = Path(options.source).expanduser() if options.source else fetched("yunet")
    if weights is None:
        raise ModelLoadError(f"yunet needs its weights. {how_to_fetch('yunet')} Or: yunet:PATH")
    return shared(("yunet", weights, stamp(weights)), lambda: YunetFaces(weights))


class YunetFaces(FaceFinder):
    """A FaceDetector of boxes with score and five landmarks.

    Landmarks: left eye, right eye, nose, left and right mouth corner; left and right are those of
    the picture.
    """

    def __init__(
        self,
        weights: Path,
        *,
        confidence: float = CONFIDENCE,
        overlap: float = OVERLAP,
        longest: int | None = None,
    ) -> None:
        """Read the weights."""
        if not weights.is_file():
            raise ModelLoadError(
                f"the file {weights} does not exist. Give the path of YuNet's ONNX file."
            )
        try:
            self._networks = EachThreads(
                lambda: cv2.FaceDetectorYN.create(
                    str(weights), "", (320, 320), confidence, overlap, MOST
                )
            )
            self._networks.get().detect(np.zeros((320, 320, 3), np.uint8))
        except cv2.error as error:
            first = str(error).strip().partition("\n")[0]
            raise ModelLoadError(
                f"{weights}: expected a YuNet model, got a file that OpenCV {cv2.__version__} "
                f"cannot read ({first}). Run t2i detector fetch yunet, or give another path."
            ) from error
        super().__init__(
            {
                "faces": "yunet",
                "weights": f"sha256:{file_digest(weights)}",
                "confidence": str(confidence),
                "overlap": str(overlap),
                "opencv": cv2.__version__,
            },
            longest,
        )

    def _faces_in(self, picture: Fitted) -> list[Box]:
        height, width = picture.pixels.shape[:2]
        network = self._networks.get()
        network.setInputSize((width, height))
        _, rows = network.detect(np.ascontiguousarray(picture.pixels[..., ::-1]))
        return [] if rows is None else [_box(picture, row) for row in rows.tolist()]


def _box(picture: Fitted, row: list[float]) -> Box:
    left, top, across, down, *points, score = row
    landmarks = tuple(zip(points[::2], points[1::2], strict=True))
    return picture.box((left, top, left + across, top + down), score, landmarks)
