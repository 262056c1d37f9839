"""Aligned faces: the largest face of a picture, its eyes level, in a square of one size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_t2i import Box, FaceDetector

if TYPE_CHECKING:
    from PIL.Image import Image

SIZE = 128
"""Side of an aligned face in pixels."""
AROUND = 1.6
"""Side of the crop relative to the face's box, so that headwear and collar are included."""


def aligned_faces(finder: FaceDetector, images: Sequence[Image]) -> list[Image | None]:
    """The largest face of every picture; None where there is none.

    The first two landmarks of a face are the eyes, which are turned level. A box without landmarks
    is not turned.
    """
    return [
        aligned(image, boxes[0]) if boxes else None
        for image, boxes in zip(images, finder.faces(images), strict=True)
    ]


def aligned(image: Image, box: Box) -> Image:
    """Turn a face about its centre and crop it.

    >>> from PIL import Image
    >>> aligned(Image.new("RGB", (64, 64)), Box(16, 16, 48, 48)).size
    (128, 128)
    """
    from PIL import Image as Images

    middle = ((box.left + box.right) / 2, (box.top + box.bottom) / 2)
    angle = 0.0
    if len(box.landmarks) > 1:
        (left, high), (right, low) = sorted(box.landmarks[:2])
        angle = math.degrees(math.atan2(low - high, right - left))
    turned = image.convert("RGB").rotate(angle, Images.Resampling.BILINEAR, center=middle)
    half = AROUND * max(box.width, box.height, 1.0) / 2
    corners = (middle[0] - half, middle[1] - half, middle[0] + half, middle[1] + half)
    return turned.transform(
        (SIZE, SIZE), Images.Transform.EXTENT, corners, Images.Resampling.BILINEAR
    )
