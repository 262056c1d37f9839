"""Light and shade on drawn faces: without it, face detectors trained on photographs find one face in ten less."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.drawing.canvas import SIZE

Array = NDArray[np.float32]

SPOTS = (
    # strength, x, y, width, height: soft spots in face coordinates
    (0.10, 0.0, -0.13, 0.07, 0.04),  # forehead
    (-0.30, -0.072, -0.035, 0.042, 0.026),  # eye sockets
    (-0.30, 0.072, -0.035, 0.042, 0.026),
    (0.16, 0.0, 0.0, 0.012, 0.05),  # bridge of the nose
    (0.14, 0.0, 0.06, 0.016, 0.014),
    (-0.26, 0.0, 0.09, 0.035, 0.012),  # shadow under the nose
    (-0.10, -0.034, 0.02, 0.014, 0.04),
    (-0.10, 0.034, 0.02, 0.014, 0.04),
    (0.13, -0.09, 0.05, 0.035, 0.03),  # cheeks
    (0.13, 0.09, 0.05, 0.035, 0.03),
    (-0.16, 0.0, 0.165, 0.035, 0.012),  # under the lip
    (0.08, 0.0, 0.19, 0.04, 0.02),  # chin
)


@dataclass(frozen=True, slots=True)
class FacePosition:
    """Where a face lies: centre in shares of the picture, unit as for ``Canvas.move_to``."""

    x: float
    y: float
    unit: float


def _grid() -> tuple[Array, Array]:
    rows, columns = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    return (columns + 0.5) / SIZE, (rows + 0.5) / SIZE


GRID_X, GRID_Y = _grid()


def shade_faces(picture: Array, face_mask: NDArray[np.bool_], faces: list[FacePosition], rng: random.Random) -> Array:
    """Darken and lighten the face pixels of ``picture`` [SIZE, SIZE, 3]; one light for all faces."""
    light = rng.choice([-1, 1]) * rng.uniform(0.2, 0.8)
    total = np.zeros((SIZE, SIZE), dtype=np.float32)
    for face in faces:
        total += _face_shade((GRID_X - face.x) / face.unit, (GRID_Y - face.y) / face.unit, light)
    shaded: Array = picture * np.exp(total * face_mask)[..., None].astype(np.float32)
    return shaded


def _face_shade(across: Array, down: Array, light: float) -> Array:
    distance = (across / 0.17) ** 2 + (down / 0.23) ** 2
    shade = -0.42 * np.clip(distance - 0.25, 0, 1.2)
    for strength, x, y, width, height in SPOTS:
        if strength > 0.09 and y < -0.1:
            x -= 0.02 * light
        shade += strength * np.exp(-0.5 * (((across - x) / width) ** 2 + ((down - y) / height) ** 2))
    shade -= 0.08 + 0.12 * light * across / 0.17
    return np.where(distance < 1.6, shade, 0).astype(np.float32)


def global_light(rng: random.Random) -> Array:
    """A brightness for every pixel, [SIZE, SIZE]: overall level and a slight slope."""
    level = 1 + rng.uniform(-0.06, 0.06)
    slope = rng.uniform(-0.06, 0.06) * (GRID_X - 0.5) + rng.uniform(-0.06, 0.08) * (0.5 - GRID_Y)
    return (level + slope).astype(np.float32)
