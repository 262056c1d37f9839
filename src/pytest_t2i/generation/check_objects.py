"""Check the objects that an object detector returned, before they are stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pytest_t2i.data import Box, FoundObject, Mask
from pytest_t2i.errors import DetectorError, shown


def checked_objects(
    objects: Iterable[Any], size: tuple[int, int], name: str
) -> tuple[FoundObject, ...]:
    """The valid objects of one picture.

    Args:
        objects: objects that the detector returned.
        size: width and height of the picture.
        name: name of the object detector, for messages.

    Raises:
        DetectorError: one is no FoundObject, has no name, a box that is not finite, or a mask of
            another size than its picture.

    >>> tie = FoundObject("tie", Box(1, 2, 3, 4, 0.9))
    >>> checked_objects([tie], (8, 8), "mine") == (tie,)
    True
    """
    try:
        listed = tuple(objects)
    except TypeError:
        listed = (objects,)
    for each in listed:
        if wrong := _wrong(each, size):
            raise DetectorError(f"object detector {name!r}: {wrong}")
    return listed


def _wrong(given: Any, size: tuple[int, int]) -> str:
    if not isinstance(given, FoundObject):
        return f"expected a list of pytest_t2i.FoundObject for every image, got {shown(given)}"
    if not isinstance(given.name, str) or not given.name.strip():
        return f"expected a word as the name of an object, got {shown(given.name)}"
    if not _is_finite(given.box):
        return f"expected a Box of finite numbers for {given.name!r}, got {shown(given.box)}"
    return _wrong_mask(given, size)


def _is_finite(box: Any) -> bool:
    if not isinstance(box, Box):
        return False
    numbers = (box.left, box.top, box.right, box.bottom, box.score)
    try:
        return all(math.isfinite(number) for number in numbers)
    except (TypeError, OverflowError):
        return False


def _wrong_mask(given: FoundObject, size: tuple[int, int]) -> str:
    mask = given.mask
    if mask is None:
        return ""
    if not isinstance(mask, Mask):
        return f"expected a pytest_t2i.Mask or None for {given.name!r}, got {shown(mask)}"
    if (mask.width, mask.height) != size:
        width, height = size
        return (
            f"the mask of {given.name!r} is {mask.width} x {mask.height} pixels, its picture "
            f"{width} x {height}: give masks as large as the picture"
        )
    if sum(mask.runs) != mask.width * mask.height:
        return (
            f"expected runs for {mask.width * mask.height} pixels in the mask of {given.name!r}, "
            f"got runs for {sum(mask.runs)}"
        )
    return ""
