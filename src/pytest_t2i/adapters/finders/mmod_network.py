"""The network of dlib's CNN face detector (max-margin object detection, King 2015) in torch.

A window of 80 x 80 pixels slides over a pyramid whose levels shrink by 5/6. Windows that score
above 0 are faces; of overlapping ones the one with the highest score is kept. The weights are
dlib's file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pytest_t2i.adapters.finders.mmod_weights import FILTERS, convolutions, overlap_of
from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.errors import ModelLoadError

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
        """Read dlib's file.

        Raises:
            ModelLoadError: the file has other content.
        """
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
    kept: list[Face] = []
    for face in faces:
        if all(_shared(face, other) <= overlap for other in kept):
            kept.append(face)
    return kept


def _shared(a: Face, b: Face) -> float:
    """Intersection over union."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    both = max(0.0, width) * max(0.0, height)
    areas = [(face.right - face.left) * (face.bottom - face.top) for face in (a, b)]
    return both / (sum(areas) - both)
