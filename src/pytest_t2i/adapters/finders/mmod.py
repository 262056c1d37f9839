"""Faces by the network of dlib's CNN detector, run by torch: the default of clip-enhance.

Weights, pyramid, threshold and suppression are those of ``dlib-cnn``. This implementation is
several times faster on a CPU, runs on a GPU, and needs no dlib. Scores differ by 0.05 on average,
as dlib puts the levels of its pyramid into one image, which shifts the positions of the window.
docs/detectors.md reports how often the two agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.adapters.finders.face_finder import CnnFinder, CnnSettings, cnn_weights
from pytest_t2i.adapters.finders.mmod_network import Mmod
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.adapters.support.devices import memory_guard, one_thread, pick_device
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.adapters.support.locating import shared
from pytest_t2i.data import Box
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

with needs("the face detector mmod", "diffusers"):
    import torch

if TYPE_CHECKING:
    from PIL.Image import Image


def load(options: LoadOptions) -> MmodFaces:
    """Load the network with the settings of FairFace, once per weights and device in a process.

    Args:
        options: ``source`` is the path of mmod_human_face_detector.dat; "" stands for the file of
            the package face_recognition_models.

    Raises:
        MissingExtraError: torch or face_recognition_models is not installed.
        ModelLoadError: the file does not exist, or has other content.
        ConfigurationError: no such device.
    """
    device = str(pick_device(options.device))
    weights = cnn_weights(options.source)
    key = ("mmod", weights, stamp(weights), device)
    return shared(key, lambda: MmodFaces(weights, device=device))


class MmodFaces(CnnFinder):
    """A FaceDetector that runs the network through torch, on a CPU with one thread."""

    def __init__(
        self, weights: Path, settings: CnnSettings | None = None, *, device: str = "cpu"
    ) -> None:
        """Read the weights.

        Raises:
            ModelLoadError: the file does not exist, or has other content.
        """
        self._network = Mmod(cnn_weights(weights), device)
        self._threads = one_thread if device == "cpu" else nullcontext
        library = {"torch": torch.__version__.partition("+")[0]}
        super().__init__("mmod", weights, settings or CnnSettings(), library)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        with memory_guard("looking for faces"), self._threads():
            return super()._find(images)

    def _faces_in(self, picture: Fitted) -> list[Box]:
        settings = self._settings
        faces = self._network.faces(picture.pixels, settings.upsampling, settings.confidence)
        return [picture.box(face[:4], face.score) for face in faces]
