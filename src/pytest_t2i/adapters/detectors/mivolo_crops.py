"""MiVOLO's input: the choice of the person, and the crops of face and body.

The rules are those of the original's ``structures.py`` and ``data/misc.py`` (WildChlamydia/MiVOLO),
implemented anew. Faces are assigned to persons by largest overlap. In a body crop every face and
every other person is blackened, and margins that are then mostly black are trimmed. A body under 50
pixels, or with less than 0.4 of its area left, is not used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from pytest_t2i.data import Box

SMALLEST_BODY = 50
"""Least width and height of a body in pixels."""
LEAST_LEFT = 0.4
"""Least share of a body crop that must remain after trimming."""
ROUNDING = 0.3
"""A blackened person that ends this near an edge is blackened to the edge; and a row or column
is trimmed when all but this share of it is black."""
LEAST_OVERLAP = 1e-4
"""Least overlap at which a face is assigned to a person."""


class PersonsAndFaces(NamedTuple):
    """Boxes of persons and faces in one picture."""

    persons: tuple[Box, ...]
    faces: tuple[Box, ...]


class Subject(NamedTuple):
    """Face and body crop of the classified person; None for a missing or unusable crop."""

    face: np.ndarray | None
    """RGB uint8 [height, width, 3]."""
    body: np.ndarray | None
    """RGB uint8 [height, width, 3]."""

    @property
    def is_visible(self) -> bool:
        """Whether there is a crop."""
        return self.face is not None or self.body is not None


def subject(pixels: np.ndarray, boxes: PersonsAndFaces) -> Subject:
    """The largest person with their face; without a person, the largest face.

    The original classifies every person; here a picture has one label.

    Args:
        pixels: the picture, RGB uint8 [height, width, 3].
        boxes: boxes in the picture, the largest first.
    """
    if not boxes.persons:
        return Subject(_cut(pixels, boxes.faces[0]) if boxes.faces else None, None)
    owner = assigned(boxes)
    face = next((box for at, box in enumerate(boxes.faces) if owner[at] == 0), None)
    return Subject(_cut(pixels, face) if face else None, body(pixels, boxes))


def assigned(boxes: PersonsAndFaces) -> list[int | None]:
    """For every face, the index of its person, or None.

    Example:
        >>> man, face = Box(0, 0, 10, 30), Box(2, 2, 8, 8)
        >>> assigned(PersonsAndFaces((man,), (face, Box(20, 20, 25, 25))))
        [0, None]
    """
    owner: list[int | None] = [None] * len(boxes.faces)
    if boxes.persons and boxes.faces:
        gains = np.array([[_closeness(p, f) for f in boxes.faces] for p in boxes.persons])
        for person, face in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
            if gains[person, face] > LEAST_OVERLAP:
                owner[face] = int(person)
    return owner


def body(pixels: np.ndarray, boxes: PersonsAndFaces) -> np.ndarray | None:
    """The first person's crop with faces and others blackened; None where too little is left."""
    own = boxes.persons[0]
    crop = _cut(pixels, own)
    if crop is None or min(crop.shape[:2]) < SMALLEST_BODY:
        return None
    for face in boxes.faces:
        _blacken(crop, own, face)
    for other in boxes.persons[1:]:
        _blacken(crop, own, other, to_edges=True)
    trimmed = _trimmed(crop)
    left = trimmed.shape[0] * trimmed.shape[1] / (crop.shape[0] * crop.shape[1])
    return trimmed if left >= LEAST_LEFT else None


def _closeness(person: Box, face: Box) -> float:
    """Mean of two ratios: intersection to face, and intersection to union."""
    shared = _intersection(person, face)
    union = person.area + face.area - shared
    return (shared / face.area + shared / union) / 2 if face.area and union else 0.0


def _intersection(a: Box, b: Box) -> float:
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    return max(width, 0.0) * max(height, 0.0)


def _cut(pixels: np.ndarray, box: Box) -> np.ndarray | None:
    left, top = max(int(box.left), 0), max(int(box.top), 0)
    crop = pixels[top : int(box.bottom), left : int(box.right)].copy()
    return crop if crop.size else None


def _blacken(crop: np.ndarray, own: Box, other: Box, *, to_edges: bool = False) -> None:
    if _intersection(own, other) <= 0:
        return
    height, width = crop.shape[:2]
    left, right = _span(other.left - int(own.left), other.right - int(own.left), width, to_edges)
    top, bottom = _span(other.top - int(own.top), other.bottom - int(own.top), height, to_edges)
    crop[top:bottom, left:right] = 0


def _span(start: float, end: float, length: int, to_edges: bool) -> tuple[int, int]:
    first, last = max(int(start), 0), min(int(end), length)
    if to_edges and first / length < ROUNDING:
        first = 0
    if to_edges and (length - last) / length < ROUNDING:
        last = length
    return first, last


def _trimmed(crop: np.ndarray) -> np.ndarray:
    """The crop without rows and columns at its edges that are nearly all black."""
    black = (crop == 0).all(axis=2)
    # Rows, too, are compared with the crop's height, as in the training of the network.
    most = crop.shape[0] * (1 - ROUNDING)
    rows, columns = black.sum(axis=1) <= most, black.sum(axis=0) <= most
    top, bottom = _ends(rows)
    left, right = _ends(columns)
    return crop[top:bottom, left:right]


def _ends(kept: np.ndarray) -> tuple[int, int]:
    places = np.flatnonzero(kept)
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, len(kept))
