"""Scale a picture to the size for face detection, and map boxes back to the picture.

FairFace detects faces with the longest side at 800 pixels and enlarges smaller pictures (its
``predict.py``), as dlib's detectors find faces from 80 pixels on, or 40 with one upsampling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pytest_t2i.data import Box

if TYPE_CHECKING:
    from PIL.Image import Image

FAIRFACE_CONFIDENCE = 0.0
"""Least score of a face: the default of dlib's CNN, which FairFace uses."""
FAIRFACE_UPSAMPLING = 1
"""Number of times that a picture is doubled before the search."""
FAIRFACE_LONGEST = 800
"""Longest side in pixels."""


class Fitted(NamedTuple):
    """A scaled picture."""

    pixels: np.ndarray
    """RGB, uint8 [height, width, 3]."""
    wider: float
    """Scaled width divided by the picture's own width."""
    higher: float
    """Scaled height divided by the picture's own height."""

    def box(
        self,
        corners: tuple[float, float, float, float],
        score: float,
        landmarks: tuple[tuple[float, float], ...] = (),
    ) -> Box:
        """Map a box (left, top, right, bottom) to the picture's own pixels."""
        left, top, right, bottom = corners
        return Box(
            left / self.wider,
            top / self.higher,
            right / self.wider,
            bottom / self.higher,
            score,
            tuple((x / self.wider, y / self.higher) for x, y in landmarks),
        )

    def upright(self, rectangle: Any, score: float) -> Box:
        """The box of a dlib rectangle, which includes its last pixel."""
        right, bottom = rectangle.right() + 1, rectangle.bottom() + 1
        return self.box((rectangle.left(), rectangle.top(), right, bottom), score)


def fitted_size(width: int, height: int, longest: int | None) -> tuple[int, int]:
    """Width and height with the longer side at ``longest``, rounded down as in FairFace.

    >>> fitted_size(200, 100, 800), fitted_size(1000, 1200, 800), fitted_size(5, 7, None)
    ((800, 400), (666, 800), (5, 7))
    """
    if longest is None:
        return width, height
    if width > height:
        return longest, max(1, int(1.0 * longest * height / width))
    return max(1, int(1.0 * longest * width / height)), longest


def fitted(image: Image, longest: int | None = None) -> Fitted:
    """Scale the picture's longer side to ``longest`` pixels; None for no scaling.

    Scaling is bilinear with corners kept and without smoothing, as in ``dlib.resize_image``.
    """
    pixels = np.asarray(image.convert("RGB"))
    height, width = pixels.shape[:2]
    new_width, new_height = fitted_size(width, height, longest)
    if (new_width, new_height) != (width, height):
        pixels = _bilinear(pixels, new_width, new_height)
    return Fitted(np.ascontiguousarray(pixels), new_width / width, new_height / height)


def _bilinear(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    top, bottom, down = _places(pixels.shape[0], height)
    left, right, across = _places(pixels.shape[1], width)
    columns = pixels.astype(np.float32)
    share = across[None, :, None]
    columns = columns[:, left] * (1 - share) + columns[:, right] * share
    share = down[:, None, None]
    rows = columns[top] * (1 - share) + columns[bottom] * share
    rounded: np.ndarray = (rows + 0.5).astype(np.uint8)
    return rounded


def _places(old: int, new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every new position its two old neighbours and the weight of the second."""
    where = np.arange(new) * ((old - 1) / max(new - 1, 1))
    first = np.floor(where).astype(int)
    return first, np.minimum(first + 1, old - 1), (where - first).astype(np.float32)
