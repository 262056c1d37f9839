"""Faces by the network of dlib's CNN detector, run by torch: the default of clip-enhance.

Weights, pyramid, threshold and suppression are those of ``dlib-cnn``; it is several times quicker
on a CPU, runs on a GPU, and needs no dlib. Scores differ by 0.05 on average, since dlib keeps the
levels of its pyramid in one sheet, which shifts the places that are looked at: docs/detectors.md
says how often the two agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.adapters.finders.mmod_network import Mmod
from pytest_t2i.adapters.finders.packaged import NAME, packaged
from pytest_t2i.adapters.finders.scaling import (
    FAIRFACE_CONFIDENCE,
    FAIRFACE_LONGEST,
    FAIRFACE_UPSAMPLING,
    Fitted,
    fitted,
)
from pytest_t2i.adapters.support.devices import memory_guard, pick_device
from pytest_t2i.adapters.support.digests import file_digest
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.adapters.support.locating import Finder, shared
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
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
    weights = Path(options.source).expanduser() if options.source else packaged()
    return shared(("mmod", weights, device), lambda: MmodFaces(weights, device=device))


class MmodFaces(Finder):
    """Upright boxes without landmarks; obeys FaceDetector."""

    def __init__(
        self,
        weights: Path,
        *,
        confidence: float = FAIRFACE_CONFIDENCE,
        upsampling: int = FAIRFACE_UPSAMPLING,
        longest: int | None = FAIRFACE_LONGEST,
        device: str = "cpu",
    ) -> None:
        """Read the weights.

        Args:
            weights: mmod_human_face_detector.dat.
            confidence: Least score of a face; above 1 for a sure one.
            upsampling: Times that a picture is doubled before it is looked at.
            longest: Pixels that the longer side is brought to first; None leaves it.
            device: As torch names it.

        Raises:
            ModelLoadError: there is no such file, or it holds something else.
        """
        if not weights.is_file():
            raise ModelLoadError(f"there is no file {weights}. Give the path of {NAME}.")
        self._network = Mmod(weights, device)
        self._confidence, self._upsampling, self._longest = confidence, upsampling, longest
        super().__init__(
            {
                "faces": "mmod",
                "weights": f"sha256:{file_digest(weights)}",
                "confidence": str(confidence),
                "upsampling": str(upsampling),
                "longest side": str(longest or "as it is"),
                "torch": torch.__version__.partition("+")[0],
            }
        )

    def faces(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The faces of every picture, in its own pixels, the largest first."""
        return self.find(images)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        with memory_guard("looking for faces"):
            return [self._of_one(fitted(image, self._longest)) for image in images]

    def _of_one(self, picture: Fitted) -> list[Box]:
        found = self._network.faces(picture.pixels, self._upsampling, self._confidence)
        return [picture.box(one[:4], one.score) for one in found]
