"""People by YOLOv8 through ultralytics (Jocher et al. 2023; Lyu section 5.1).

The package and weights trained with it are under AGPL-3.0. The package is only imported for a
detector that needs it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.devices import pick_device
from pytest_t2i.adapters.fetching import PublishedWeights, published
from pytest_t2i.adapters.finders.locating import Finder, shared
from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics
from pytest_t2i.adapters.finders.yolo_model import FORMATS, YoloModel
from pytest_t2i.adapters.identity import cache_file
from pytest_t2i.adapters.loading import looks_like_path
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "yolov8n.pt"
"""The smallest YOLOv8 trained on COCO; Lyu does not name the size."""
PERSON = "person"
"""Name of the class of people; its number depends on the model."""
CONFIDENCE = 0.25
"""Least score of a box, the library's default; docs/detectors.md compares others."""
OVERLAP = 0.5
"""IoU at which two boxes are merged. At the library's default of 0.7 the head-and-shoulders box and
the whole-body box of one person are both kept, so that single portraits count as two people."""


def load(options: LoadOptions) -> YoloPersons:
    """Load YOLOv8 as a person detector, once per weights and device in a process.

    Args:
        options: ``source`` is a path of .pt, .onnx or .tflite weights, or the name of weights that
            ultralytics publishes (``yolov8n.pt``), which are downloaded once; "" is the default.

    Raises:
        MissingExtraError: ultralytics is not installed.
        ModelLoadError: there are no such weights, or they have no class of people.
        ConfigurationError: no such device.
    """
    device = str(pick_device(options.device))
    source = options.source or DEFAULT
    key = ("yolo", source, stamp(Path(source).expanduser()), device)
    return shared(key, lambda: YoloPersons(source, device=device))


class YoloPersons(Finder):
    """A PersonDetector with the boxes of the class ``person``."""

    def __init__(
        self,
        source: str = DEFAULT,
        *,
        confidence: float = CONFIDENCE,
        overlap: float = OVERLAP,
        size: int | None = None,
        device: str = "cpu",
    ) -> None:
        """Load weights."""
        path = weights_file(source)
        self._model = YoloModel(path, device)
        self._classes = _person_classes(self._model.names, path)
        self._how: dict[str, Any] = {
            "conf": confidence,
            "iou": overlap,
            "classes": self._classes,
            # Padding to the smallest rectangle would make a picture's boxes depend on its batch.
            "rect": False,
            **({"imgsz": size} if size else {}),
        }
        self.batch = 1 if self._model.is_exported else Finder.batch
        super().__init__(
            {
                **self._model.facts,
                "persons": f"yolo {path.name}",
                "confidence": str(confidence),
                "overlap": str(overlap),
                "size": str(size or "of the weights"),
            }
        )

    def persons(self, images: Sequence[Image]) -> list[tuple[Box, ...]]:
        """The people of every picture, in its own pixels, the largest first."""
        return self.find(images)

    def _find(self, images: Sequence[Image]) -> list[list[Box]]:
        return [_boxes(raw) for raw in self._model.look(images, "people", **self._how)]


def _boxes(raw: Any) -> list[Box]:
    corners, scores = raw.xyxy.cpu().tolist(), raw.conf.cpu().tolist()
    return [
        Box(left, top, right, bottom, score)
        for (left, top, right, bottom), score in zip(corners, scores, strict=True)
    ]


def weights_file(source: str) -> Path:
    """Path of the weights file; weights with a published name are downloaded into the cache."""
    path = Path(source).expanduser()
    if path.suffix not in FORMATS:
        raise ModelLoadError(
            f"weights={source!r}: expected a path that ends in {', '.join(FORMATS)}, or a name "
            f"such as {DEFAULT}."
        )
    if path.is_file():
        return path
    if looks_like_path(source) or "/" in source:
        raise ModelLoadError(
            f"the file {path} does not exist. Give the path of YOLO weights "
            f"({', '.join(FORMATS)}), or a name such as {DEFAULT}, which is downloaded."
        )
    return _fetched(source)


def _fetched(name: str) -> Path:
    """Download published weights; the checksum of those of ``t2i detector fetch`` is verified."""
    ultralytics()
    from ultralytics.utils.downloads import GITHUB_ASSETS_NAMES, attempt_download_asset

    if name not in GITHUB_ASSETS_NAMES:
        examples = ", ".join(
            sorted(weights for weights in GITHUB_ASSETS_NAMES if weights.startswith("yolov8"))
        )
        raise ModelLoadError(
            f"{name!r}: expected a file or a name of weights that ultralytics publishes, such as "
            f"{examples}."
        )
    target = cache_file().parent / "ultralytics" / name
    checked = next((entry for entry in published().values() if entry.file == name), None)
    if checked is not None and not target.is_file():
        return _checked(checked)
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            try:
                attempt_download_asset(Path(folder) / name)
                (Path(folder) / name).replace(target)
            except Exception as error:
                raise _unreachable(name, target) from error
    return target


def _checked(weights: PublishedWeights) -> Path:
    if not weights.path.is_file():
        from pytest_t2i.adapters.fetching import fetch

        print(f"t2i: fetching {weights.facts}", file=sys.stderr, flush=True)  # noqa: T201
        fetch(weights)
    return weights.path


def _unreachable(name: str, target: Path) -> ModelLoadError:
    return ModelLoadError(
        f"the weights {name!r} are not on this machine, and ultralytics could not fetch them. Run "
        f"once with a network, or put the file at {target}, or give its path."
    )


def _person_classes(names: dict[int, str], path: Path) -> list[int]:
    class_numbers = [number for number, name in names.items() if name == PERSON]
    if not class_numbers:
        classes = ", ".join(list(names.values())[:8])
        raise ModelLoadError(
            f"{path}: expected weights with the class {PERSON!r}, got {classes}, ... Give other "
            f"weights, such as {DEFAULT}."
        )
    return class_numbers
