"""Faces by the network of dlib's CNN detector, run by torch: the default of clip-enhance.

Weights, pyramid, threshold and suppression are those of ``dlib-cnn``. This implementation is
several times faster on a CPU, runs on a GPU, and needs no dlib. Scores differ by 0.05 on average,
as dlib puts the levels of its pyramid into one image, which shifts the positions of the window.
docs/detectors.md reports how often the two agree.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_t2i.adapters.devices import memory_guard, one_thread, pick_device
from pytest_t2i.adapters.finders.face_finder import CnnFinder, CnnSettings, cnn_weights
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

CONVOLUTION, NORMALIZATION = b"\x01\x05con_4", b"\x01\x07bn_con2"
START = b"\x01\x01\x01\x0aloss_mmod_"
EPSILON = 1e-4
"""dlib's DEFAULT_BATCH_NORM_EPS."""
FILTERS = ((16, 3, 5), (32, 16, 5), (32, 32, 5), (45, 32, 5), (45, 45, 5), (45, 45, 5), (1, 45, 9))
"""Outputs, inputs and kernel side of the seven convolutions."""
TENSOR = 2
"""Version of a serialized tensor."""


class Convolution(NamedTuple):
    """One layer, merged with the normalisation that follows it."""

    weights: np.ndarray
    """[outputs, inputs, side, side] float32."""
    bias: np.ndarray
    """[outputs] float32."""


@dataclass(slots=True)
class Reader:
    """Reads values from the bytes, one after another."""

    data: bytes
    at: int = 0

    def integer(self) -> int:
        control = self.data[self.at]
        count = control & 0x0F
        start, self.at = self.at + 1, self.at + 1 + count
        value = int.from_bytes(self.data[start : self.at], "little")
        return -value if control & 0x80 else value

    def number(self) -> float:
        mantissa = self.integer()
        return float(mantissa * 2.0 ** self.integer())

    def tensor(self) -> np.ndarray:
        """Read a tensor as a flat array."""
        if self.integer() != TENSOR:
            raise ValueError("expected a tensor, got another value")
        count = int(np.prod([self.integer() for _ in range(4)]))
        start, self.at = self.at, self.at + 4 * count
        return np.array(struct.unpack(f"<{count}f", self.data[start : self.at]), np.float32)

    def alias(self) -> None:
        """Skip the description of a part of a tensor: a version and four dimensions."""
        for _ in range(5):
            self.integer()


def overlap_of(data: bytes) -> float:
    """Largest intersection over union of two faces that are both kept."""
    reader = Reader(data, len(START))
    # Skipped: version of the options, width and height of the window, losses of false alarms and
    # misses, overlap with the truth in training.
    for skip in (*[reader.integer] * 3, *[reader.number] * 3):
        skip()
    return reader.number()


def convolutions(data: bytes) -> Iterator[Convolution]:
    """The layers in the order of the file, which is that of the network."""
    at = 0
    for outputs, inputs, side in FILTERS:
        at = data.index(CONVOLUTION, at) + len(CONVOLUTION)
        values = Reader(data, at).tensor()
        weights = values[:-outputs].reshape(outputs, inputs, side, side)
        layer = Convolution(weights, values[-outputs:])
        at += values.nbytes
        yield _normalized(data, at, layer) if outputs > 1 else layer


def _normalized(data: bytes, at: int, layer: Convolution) -> Convolution:
    """Merge gamma (x - mean) / sqrt(variance + eps) + beta into weights and bias."""
    reader = Reader(data, data.index(NORMALIZATION, at) + len(NORMALIZATION))
    gamma, beta = np.split(reader.tensor(), 2)
    # Skipped: positions of gamma and beta in their tensor, means and deviations of the last batch.
    for skip in (reader.alias, reader.alias, reader.tensor, reader.tensor):
        skip()
    mean, variance = reader.tensor(), reader.tensor()
    scale = gamma / np.sqrt(variance + EPSILON)
    bias = (layer.bias - mean) * scale + beta
    return Convolution(layer.weights * scale[:, None, None, None], bias)


with needs("the face detector mmod", "diffusers"):
    import torch
    from torch.nn import functional

MEAN = (122.782, 117.001, 104.298)
"""Mean of red, green and blue; dlib subtracts it and divides by 256."""
WINDOW = 80
SHRINK = 5 / 6
STRIDED = 3
"""Number of first convolutions with stride 2 and no padding; the others keep the size."""
MARGIN = 35
"""Width in pixels of a level's empty margin: dlib's 11, and three steps of 8 for the window."""
SMALLEST = 5
"""Side in pixels at which the pyramid ends."""


class Face(NamedTuple):
    """Edges of the window in pixels of the given picture, and its score."""

    left: float
    top: float
    right: float
    bottom: float
    score: float


class Mmod:
    """The network with its pyramid and its suppression."""

    def __init__(self, weights: Path, device: str = "cpu") -> None:
        """Read dlib's file."""
        try:
            data = weights.read_bytes()
            self._overlap = overlap_of(data)
            layers = list(convolutions(data))
        except (ValueError, IndexError, OverflowError) as error:
            raise ModelLoadError(
                f"{weights}: expected mmod_human_face_detector.dat, got another file ({error}). "
                "Give its path."
            ) from error
        self._layers = [
            (torch.from_numpy(layer.weights).to(device), torch.from_numpy(layer.bias).to(device))
            for layer in layers
        ]
        self._mean = torch.tensor(MEAN, device=device)[:, None, None]
        self._device = device

    def faces(self, pixels: np.ndarray, upsampling: int, least: float = 0.0) -> list[Face]:
        """The faces of a picture, RGB uint8 [height, width, 3], the highest score first."""
        picture = torch.tensor(pixels).to(self._device).permute(2, 0, 1).float()
        for _ in range(upsampling):
            picture = _resized(picture, 2 * picture.shape[1], 2 * picture.shape[2])
        with torch.no_grad():
            windows = self._everywhere((picture - self._mean) / 256, 2.0**upsampling, least)
            surest = sorted(windows, key=lambda face: -face.score)
        return _suppressed(surest, self._overlap)

    def _everywhere(self, picture: torch.Tensor, scale: float, least: float) -> Iterator[Face]:
        height, width = (side / scale for side in picture.shape[1:])
        level = picture
        while min(level.shape[1:]) > SMALLEST:
            down, across = height / level.shape[1], width / level.shape[2]
            yield from _windows(self._scores(level), across, down, least)
            smaller = [int(SHRINK * side + 0.5) for side in level.shape[1:]]
            level = _resized(level, *smaller)

    def _scores(self, level: torch.Tensor) -> torch.Tensor:
        # dlib puts all levels into one image with margins; here each level is an image.
        current = functional.pad(level[None], (MARGIN,) * 4)
        for place, (weights, bias) in enumerate(self._layers):
            stride, padding = (2, 0) if place < STRIDED else (1, weights.shape[-1] // 2)
            current = functional.conv2d(current, weights, bias, stride, padding)
            if place < len(FILTERS) - 1:
                current = current.relu()
        return current[0, 0]


def _windows(scores: torch.Tensor, across: float, down: float, least: float) -> Iterator[Face]:
    rows, columns = torch.nonzero(scores > least, as_tuple=True)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        # Position x of a strided layer is centred at 2 x + 2 of its input, for three layers.
        x, y = (8 * place + 14 - MARGIN for place in (column, row))
        half = WINDOW / 2
        yield Face(
            (x - half) * across,
            (y - half) * down,
            (x + half) * across,
            (y + half) * down,
            float(scores[row, column]),
        )


def _resized(picture: torch.Tensor, height: int, width: int) -> torch.Tensor:
    size = (max(1, height), max(1, width))
    return functional.interpolate(picture[None], size, mode="bilinear", align_corners=True)[0]


def _suppressed(faces: list[Face], overlap: float) -> list[Face]:
    survivors: list[Face] = []
    for face in faces:
        if all(_shared(face, survivor) <= overlap for survivor in survivors):
            survivors.append(face)
    return survivors


def _shared(a: Face, b: Face) -> float:
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    overlap = max(0.0, width) * max(0.0, height)
    areas = [(face.right - face.left) * (face.bottom - face.top) for face in (a, b)]
    return overlap / (sum(areas) - overlap)


with needs("the face detector mmod", "diffusers"):
    import torch


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
        """Read the weights."""
        self._network = Mmod(cnn_weights(weights), device)
        self._threads = one_thread if device == "cpu" else nullcontext
        self.needs_device = device != "cpu"
        library = {"torch": torch.__version__.partition("+")[0]}
        super().__init__("mmod", weights, settings or CnnSettings(), library)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        with memory_guard("looking for faces"):
            return super()._find(images)

    def _faces_in(self, picture: Fitted) -> list[Box]:
        settings = self._settings
        with self._threads():
            faces = self._network.faces(picture.pixels, settings.upsampling, settings.confidence)
        return [picture.box(face[:4], face.score) for face in faces]
