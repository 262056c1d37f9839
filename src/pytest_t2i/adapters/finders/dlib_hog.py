"""Faces by dlib's HOG detector (Dalal and Triggs 2005; King 2009): frontal, without weights.

``pip install "pytest-t2i[faces]"`` installs a built dlib. The detector slides a window of 80 x 80
pixels over a pyramid, so that with one upsampling it finds faces from 40 pixels on.
"""

from __future__ import annotations

import math

from pytest_t2i.adapters.cores import EachThreads
from pytest_t2i.adapters.finders.face_finder import FaceFinder
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import LoadOptions

with needs("dlib's face detectors", "faces"):
    import dlib

THRESHOLD = 0.0
"""Least distance from the separating plane; dlib's default."""
UPSAMPLING = 1
"""Number of times that a picture is doubled before the search."""


def load(options: LoadOptions) -> HogFaces:
    """Load dlib's HOG detector.

    Args:
        options: ``source`` is "" or ``threshold=NUMBER``, the least score of a face; drawn faces
            have lower scores than photographed ones.

    Raises:
        MissingExtraError: dlib is not installed.
        ModelLoadError: ``source`` is another text; there are no weights to choose.
    """
    threshold = _threshold(options.source)
    return shared(("dlib-hog", threshold), lambda: HogFaces(threshold=threshold))


def _threshold(source: str) -> float:
    """The number behind ``threshold=``.

    >>> _threshold("threshold=-0.5"), _threshold("")
    (-0.5, 0.0)
    """
    if not source:
        return THRESHOLD
    name, _, number = source.partition("=")
    try:
        value = float(number) if name == "threshold" else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelLoadError(
            f"expected dlib-hog alone, or dlib-hog:threshold=-0.5, got dlib-hog:{source}. The "
            "detector has no weights to choose; write dlib-cnn:PATH for "
            "mmod_human_face_detector.dat."
        )
    return value


class HogFaces(FaceFinder):
    """A FaceDetector of upright boxes without landmarks; scores are distances from the plane."""

    def __init__(
        self,
        *,
        threshold: float = THRESHOLD,
        upsampling: int = UPSAMPLING,
        longest: int | None = None,
    ) -> None:
        """Prepare the detector."""
        self._detectors = EachThreads(dlib.get_frontal_face_detector)
        self._threshold, self._upsampling = threshold, upsampling
        super().__init__(
            {
                "faces": "dlib-hog",
                "threshold": str(threshold),
                "upsampling": str(upsampling),
                "dlib": dlib.__version__,
            },
            longest,
        )

    def _faces_in(self, picture: Fitted) -> list[Box]:
        detector = self._detectors.get()
        faces, scores, _ = detector.run(picture.pixels, self._upsampling, self._threshold)
        return [
            picture.upright(face, float(score)) for face, score in zip(faces, scores, strict=True)
        ]
