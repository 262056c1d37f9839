"""Faces by the network of dlib's CNN detector, run by torch: the default of clip-enhance.

Weights, pyramid, threshold and suppression are those of ``dlib-cnn``; it is several times quicker
on a CPU, runs on a GPU, and needs no dlib. Scores differ by 0.05 on average, since dlib keeps the
levels of its pyramid in one sheet, which shifts the places that are looked at: docs/detectors.md
says how often the two agree.
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
    """The network with the settings of FairFace, one per weights and device in a process.

    Args:
        options: ``source`` is the path of mmod_human_face_detector.dat; "" takes the one of the
            package face_recognition_models.

    Raises:
        MissingExtraError: torch or face_recognition_models is not installed.
        ModelLoadError: there is no such file, or it holds something else.
        ConfigurationError: no such device.
    """
    device = str(pick_device(options.device))
    weights = cnn_weights(options.source)
    key = ("mmod", weights, stamp(weights), device)
    return shared(key, lambda: MmodFaces(weights, device=device))


class MmodFaces(CnnFinder):
    """The network run by torch; obeys FaceDetector. On a CPU it takes one thread."""

    def __init__(
        self, weights: Path, settings: CnnSettings | None = None, *, device: str = "cpu"
    ) -> None:
        """Read the weights.

        Raises:
            ModelLoadError: there is no such file, or it holds something else.
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
