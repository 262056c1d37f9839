"""The first step of every detector: black and unreadable pictures are undetected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_t2i.adapters.black_or_unreadable import is_black, readable
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.protocols import FaceDetector

if TYPE_CHECKING:
    from PIL.Image import Image


def screened(images: Sequence[Image], look: Look) -> list[Detection]:
    """One detection per picture, in order; ``look`` receives readable ones that are not black.

    >>> from PIL import Image
    >>> black = Image.new("RGB", (2, 2))
    >>> [str(one.undetected) for one in screened([black], lambda pictures: [])]
    ['black_image']
    """
    pictures = [readable(image) for image in images]
    detections: dict[int, Detection] = {}
    for place, picture in enumerate(pictures):
        if picture is None:
            detections[place] = Detection(None, Undetected.UNREADABLE)
        elif is_black(picture):
            detections[place] = Detection(None, Undetected.BLACK_IMAGE)
    visible = {k: p for k, p in enumerate(pictures) if p is not None and k not in detections}
    if visible:
        detections |= dict(zip(visible, look(list(visible.values())), strict=True))
    return [detections[place] for place in range(len(pictures))]


def passed_on(
    pictures: Sequence[Image], decided: dict[int, Detection], look: Look
) -> list[Detection]:
    """One detection per picture: those decided already, and the results of ``look`` for others."""
    open_places = [place for place in range(len(pictures)) if place not in decided]
    looked_at = look([pictures[place] for place in open_places]) if open_places else []
    everything = decided | dict(zip(open_places, looked_at, strict=True))
    return [everything[place] for place in range(len(pictures))]


def look_for_faces(faces: FaceDetector, images: Sequence[Image]) -> None:
    """Have a face detector of the processor look at pictures; it remembers what it finds.

    The pictures are those that ``screened`` passes on.
    """
    if not getattr(faces, "needs_device", True):
        pictures = [readable(image) for image in images]
        faces.faces([picture for picture in pictures if picture and not is_black(picture)])


Look = Callable[[list["Image"]], Sequence[Detection]]
