"""Calls of detectors and object finders, whose answers are checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.data import Box, Detection, FoundObject, Mask, Undetected
from pytest_t2i.errors import DetectorError, blamed, shown
from pytest_t2i.protocols import Detector, LooksAhead, MadeFor
from pytest_t2i.sections.words import several

if TYPE_CHECKING:
    from PIL.Image import Image

Turn = Callable[[], AbstractContextManager[Any]]
"""Gives a context for work on a device that the model uses, too."""


def checked_objects(
    objects: Iterable[Any], size: tuple[int, int], name: str
) -> tuple[FoundObject, ...]:
    """The valid objects of one picture.

    >>> tie = FoundObject("tie", Box(1, 2, 3, 4, 0.9))
    >>> checked_objects([tie], (8, 8), "mine") == (tie,)
    True
    """
    try:
        listed = tuple(objects)
    except TypeError:
        listed = (objects,)
    for entry in listed:
        if wrong := _wrong(entry, size):
            raise DetectorError(f"object detector {name!r}: {wrong}")
    return listed


def _wrong(entry: Any, size: tuple[int, int]) -> str:
    if not isinstance(entry, FoundObject):
        return f"expected a list of pytest_t2i.FoundObject for every image, got {shown(entry)}"
    if not isinstance(entry.name, str) or not entry.name.strip():
        return f"expected a word as the name of an object, got {shown(entry.name)}"
    if not _is_finite(entry.box):
        return f"expected a Box of finite numbers for {entry.name!r}, got {shown(entry.box)}"
    return _wrong_mask(entry, size)


def _is_finite(box: Any) -> bool:
    if not isinstance(box, Box):
        return False
    numbers = (box.left, box.top, box.right, box.bottom, box.score)
    try:
        return all(math.isfinite(number) for number in numbers)
    except (TypeError, OverflowError):
        return False


def _wrong_mask(entry: FoundObject, size: tuple[int, int]) -> str:
    mask = entry.mask
    if mask is None:
        return ""
    if not isinstance(mask, Mask):
        return f"expected a pytest_t2i.Mask or None for {entry.name!r}, got {shown(mask)}"
    if (mask.width, mask.height) != size:
        width, height = size
        return (
            f"the mask of {entry.name!r} is {mask.width} x {mask.height} pixels, its picture "
            f"{width} x {height}: give masks as large as the picture"
        )
    if sum(mask.runs) != mask.width * mask.height:
        return (
            f"expected runs for {mask.width * mask.height} pixels in the mask of {entry.name!r}, "
            f"got runs for {sum(mask.runs)}"
        )
    return ""


def detections_by(
    detector: Detector, name: str, images: Sequence[Image], turn: Turn = nullcontext
) -> list[Detection]:
    """A detector's detections; pictures out of its domain are not passed to the detector."""
    with blamed(DetectorError, "detector", name):
        flags = in_domain("detector", name, detector, images)
        in_scope = [image for image, is_known in zip(images, flags, strict=True) if is_known]
        if in_scope and isinstance(detector, LooksAhead):
            detector.look_ahead(in_scope)
        with turn() if getattr(detector, "needs_device", True) else nullcontext():
            detections = list(detector.detect(in_scope)) if in_scope else []
    check_count("detector", name, len(detections), len(in_scope))
    answers = iter(checked_detection(detection, detector.labels, name) for detection in detections)
    return [
        next(answers) if is_known else Detection(None, Undetected.OUT_OF_DOMAIN)
        for is_known in flags
    ]


def in_domain(kind: str, name: str, part: Any, images: Sequence[Image]) -> list[bool]:
    """Whether each picture is in a part's domain; True for all where the part declares none."""
    if not isinstance(part, MadeFor) or not part.made_for:
        return [True] * len(images)
    flags = [bool(is_known) for is_known in part.in_domain(images)]
    check_count(kind, name, len(flags), len(images))
    return flags


def check_count(kind: str, name: str, given: int, asked: int) -> None:
    """Raise DetectorError unless there is one result for each image."""
    if given != asked:
        raise DetectorError(
            f"{kind} {name!r}: expected {several(asked, 'result')} for {several(asked, 'image')}, "
            f"got {given}"
        )


def checked_detection(detection: Any, labels: Collection[str], name: str) -> Detection:
    """A detection with a known label and with finite scores as plain floats.

    >>> checked_detection(Detection("male", scores={"male": 1}), ("male", "female"), "mine").scores
    {'male': 1.0}
    """
    if not isinstance(detection, Detection):
        raise DetectorError(
            f"detector {name!r}: expected a pytest_t2i.Detection for every image, got {detection!r}"
        )
    if detection.label is not None and detection.label not in labels:
        raise DetectorError(
            f"detector {name!r}: expected one of its labels {tuple(labels)}, got "
            f"{detection.label!r}"
        )
    scores = {str(label): _finite(score, label, name) for label, score in detection.scores.items()}
    return replace(detection, scores=scores, detail=str(detection.detail))


def _finite(score: Any, label: str, name: str) -> float:
    try:
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise DetectorError(
            f"detector {name!r}: expected a finite number as the score of {label!r}, "
            f"got {shown(score)}"
        )
    return number
