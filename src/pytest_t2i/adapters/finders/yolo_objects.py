"""Objects by any YOLO of ultralytics: boxes by a detection model, masks by a segmentation model.

The package and weights trained with it are under AGPL-3.0. The package is only imported for a
detector that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.devices import pick_device
from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.encoders.routing import domain_part
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.finders.object_finder import ObjectFinderBase
from pytest_t2i.adapters.finders.yolo import weights_file
from pytest_t2i.adapters.finders.yolo_model import YoloModel
from pytest_t2i.data import Box, FoundObject, Mask
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "yolov8n-seg.pt"
"""The smallest YOLOv8 with masks, trained on COCO."""
CONFIDENCE = 0.3
"""Least score of an object."""
OVERLAP = 0.5
"""IoU at which two boxes are merged, whatever their names."""


def load(options: LoadOptions) -> YoloObjects:
    """Load a YOLO as an object detector, once per weights and device in a process.

    Args:
        options: ``source`` is a path of .pt, .onnx or .tflite weights, or the name of weights that
            ultralytics publishes (``yolov8n-seg.pt``), which are downloaded once; "" is the
            default. An alias may also name a CLIP with the domain of the weights.

    Raises:
        MissingExtraError: ultralytics is not installed.
        ModelLoadError: there are no such weights, or they are of no detection or segmentation
        model. ConfigurationError: no such device.
    """
    device = str(pick_device(options.device))
    source = options.source or DEFAULT
    judge = domain_part(options)
    judge_fingerprint = judge.fingerprint if judge else ""
    key = ("yolo objects", source, stamp(Path(source).expanduser()), device, judge_fingerprint)
    return shared(key, lambda: YoloObjects(source, device=device, judge=judge))


class YoloObjects(ObjectFinderBase):
    """An ObjectFinder and MadeFor with all classes of a YOLO."""

    def __init__(
        self,
        source: str = DEFAULT,
        *,
        confidence: float = CONFIDENCE,
        device: str = "cpu",
        judge: ContrastiveEncoder | None = None,
    ) -> None:
        """Load weights."""
        self._judge = judge
        path = weights_file(source)
        self._model = YoloModel(path, device)
        self._how: dict[str, Any] = {
            "conf": confidence,
            "iou": OVERLAP,
            "rect": False,
            "retina_masks": True,
        }
        self.batch = 1 if self._model.is_exported else ObjectFinderBase.batch
        super().__init__(
            {
                **self._model.facts,
                "objects": f"yolo {path.name}",
                "confidence": str(confidence),
                "overlap": str(OVERLAP),
                **({"domain by": judge.fingerprint} if judge else {}),
            }
        )

    @property
    def made_for(self) -> str:
        """The kind of pictures that the weights were made for; "" for any."""
        return self._judge.made_for if self._judge else ""

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        """Whether each picture is of the kind that the weights were made for."""
        return self._judge.in_domain(images) if self._judge else [True] * len(images)

    def _find(self, images: Sequence[Image]) -> list[list[FoundObject]]:
        return [self._objects(raw) for raw in self._model.results(images, "objects", **self._how)]

    def _objects(self, raw: Any) -> list[FoundObject]:
        corners, scores = raw.boxes.xyxy.cpu().tolist(), raw.boxes.conf.cpu().tolist()
        names = [self._model.names[int(number)].lower() for number in raw.boxes.cls.cpu().tolist()]
        masks: list[Mask | None] = [None] * len(names)
        if raw.masks is not None:
            masks = [Mask.of(mask > 0.5) for mask in raw.masks.data.cpu().numpy()]  # noqa: PLR2004
        rows = zip(names, corners, scores, masks, strict=True)
        return [FoundObject(name, box_of(box, score), mask) for name, box, score, mask in rows]


def box_of(corners: Sequence[float], score: float) -> Box:
    """A box from left, top, right, bottom."""
    left, top, right, bottom = corners
    return Box(left, top, right, bottom, score)
