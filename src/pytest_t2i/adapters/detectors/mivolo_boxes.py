"""Persons and faces by one pass of YOLOv8, with the settings of MiVOLO's own detector."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.detectors.mivolo_crops import PersonsAndFaces
from pytest_t2i.adapters.finders.yolo_model import YoloModel
from pytest_t2i.adapters.support.locating import largest_first
from pytest_t2i.adapters.support.picture_memory import PictureMemory
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError

if TYPE_CHECKING:
    from PIL.Image import Image

CONFIDENCE, OVERLAP = 0.4, 0.7
"""Least score of a box, and IoU at which two boxes are merged, as in the original's demo."""
CLASSES = ("person", "face")


class PersonAndFaceFinder:
    """A YOLOv8 with the classes person and face."""

    def __init__(self, weights: Path, device: str) -> None:
        """Read the weights.

        Raises:
            MissingExtraError: ultralytics is not installed.
            ModelLoadError: the weights are no such YOLO.
        """
        self._model = YoloModel(weights, device)
        absent = [name for name in CLASSES if name not in self._model.names.values()]
        if absent:
            raise ModelLoadError(
                f"{weights}: expected a YOLO with the classes person and face, such as "
                f"yolov8x_person_face.pt, got one without {absent[0]!r}."
            )
        self._memory: PictureMemory[PersonsAndFaces] = PictureMemory()
        facts = dict(self._model.facts)
        self.facts = {
            "boxes": facts.pop("weights"),
            "confidence": str(CONFIDENCE),
            "overlap": str(OVERLAP),
            **facts,
        }

    def find(self, images: Sequence[Image]) -> list[PersonsAndFaces]:
        """Persons and faces of every picture, each the largest first."""
        # One picture at a time: padding would make a picture's boxes depend on its batch.
        return self._memory.of(images, lambda new: [self._look(image) for image in new])

    def _look(self, image: Image) -> PersonsAndFaces:
        (raw,) = self._model.look([image], "persons and faces", conf=CONFIDENCE, iou=OVERLAP)
        return PersonsAndFaces(*(self._of_class(raw, name) for name in CLASSES))

    def _of_class(self, raw: Any, wanted: str) -> tuple[Box, ...]:
        rows = zip(raw.xyxy.tolist(), raw.conf.tolist(), raw.cls.tolist(), strict=True)
        boxes = [
            Box(left, top, right, bottom, score)
            for (left, top, right, bottom), score, kind in rows
            if self._model.names[int(kind)] == wanted
        ]
        return largest_first(boxes)
