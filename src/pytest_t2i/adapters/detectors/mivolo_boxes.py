"""Persons and faces in one pass of YOLOv8, as MiVOLO's own detector finds them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.detectors.mivolo_crops import Found
from pytest_t2i.adapters.finders.quiet import quiet_ultralytics
from pytest_t2i.adapters.support.decoding import picture_digest
from pytest_t2i.adapters.support.devices import memory_guard
from pytest_t2i.adapters.support.digests import file_digest
from pytest_t2i.adapters.support.locating import largest_first
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError

if TYPE_CHECKING:
    from PIL.Image import Image

CONFIDENCE, OVERLAP = 0.4, 0.7
"""Least score of a box, and IoU from which two are one: those of the original's demo."""
CLASSES = ("person", "face")
REMEMBERED = 4096
"""Pictures whose boxes are kept."""


class PersonsAndFaces:
    """A YOLOv8 that knows the classes person and face."""

    def __init__(self, weights: Path, device: str) -> None:
        """Read the weights.

        Raises:
            MissingExtraError: ultralytics is not installed.
            ModelLoadError: they are no such weights.
        """
        library = quiet_ultralytics()
        try:
            with memory_guard(f"loading {weights.name}"):
                self._model = library.YOLO(str(weights), task="detect")
                self._names: dict[int, str] = dict(self._model.names)
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            raise ModelLoadError(
                f"{weights} is not a YOLO model that ultralytics can read "
                f"({type(error).__name__}: {first})."
            ) from error
        absent = [name for name in CLASSES if name not in self._names.values()]
        if absent:
            raise ModelLoadError(
                f"{weights} has no class {absent[0]!r}. MiVOLO needs a YOLO that knows persons "
                "and faces, such as yolov8x_person_face.pt."
            )
        self._device = device
        self._known: OrderedDict[bytes, Found] = OrderedDict()
        self.facts = {
            "boxes": f"sha256:{file_digest(weights)}",
            "confidence": str(CONFIDENCE),
            "overlap": str(OVERLAP),
            "ultralytics": str(library.__version__),
        }

    def find(self, images: Sequence[Image]) -> list[Found]:
        """Persons and faces of every picture, each the largest first."""
        return [self._of_one(image) for image in images]

    def _of_one(self, image: Image) -> Found:
        name = picture_digest(image)
        if name not in self._known:
            # One at a time: the padding of a batch would let a picture's boxes depend on others.
            with memory_guard("looking for persons and faces"):
                (result,) = self._model.predict(
                    image, conf=CONFIDENCE, iou=OVERLAP, device=self._device, verbose=False,
                    save=False,
                )  # fmt: skip
            self._known[name] = Found(*(self._of_class(result.boxes, one) for one in CLASSES))
        self._known.move_to_end(name)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return self._known[name]

    def _of_class(self, found: Any, wanted: str) -> tuple[Box, ...]:
        rows = zip(found.xyxy.tolist(), found.conf.tolist(), found.cls.tolist(), strict=True)
        boxes = [
            Box(left, top, right, bottom, score)
            for (left, top, right, bottom), score, kind in rows
            if self._names[int(kind)] == wanted
        ]
        return largest_first(boxes)
