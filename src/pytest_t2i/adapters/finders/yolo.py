"""People by YOLOv8 through ultralytics (Jocher et al. 2023; Lyu section 5.1).

The package and the weights made with it are AGPL-3.0: nothing of it is imported unless a detector
that needs it is asked for by name.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics
from pytest_t2i.adapters.finders.yolo_model import FORMATS, YoloModel
from pytest_t2i.adapters.published_weights import PublishedWeights, published
from pytest_t2i.adapters.support.devices import pick_device
from pytest_t2i.adapters.support.digests import cache_file
from pytest_t2i.adapters.support.loading import looks_like_path
from pytest_t2i.adapters.support.locating import Finder, shared
from pytest_t2i.data import Box
from pytest_t2i.errors import ModelLoadError
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "yolov8n.pt"
"""The smallest YOLOv8 trained on COCO; Lyu does not say which size."""
PERSON = "person"
"""Name of the class, whatever its number is in a model."""
CONFIDENCE = 0.25
"""Least score of a box, the library's own: docs/detectors.md compares others."""
OVERLAP = 0.5
"""IoU from which two boxes are one person. At the library's 0.7 the head-and-shoulders box and the
whole-body box of one person both stay, and single portraits count as two people."""


def load(options: LoadOptions) -> YoloPersons:
    """People by YOLOv8, one per weights and device in a process.

    Args:
        options: ``source`` is a path of .pt, .onnx or .tflite weights, or the name of weights that
            ultralytics publishes (``yolov8n.pt``), which are fetched once; "" is the default.

    Raises:
        MissingExtraError: ultralytics is not installed.
        ModelLoadError: no such weights, or not those of a detector that knows people.
        ConfigurationError: no such device.
    """
    device = str(pick_device(options.device))
    source = options.source or DEFAULT
    key = ("yolo", source, stamp(Path(source).expanduser()), device)
    return shared(key, lambda: YoloPersons(source, device=device))


class YoloPersons(Finder):
    """The boxes of the class called person; obeys PersonDetector."""

    def __init__(
        self,
        source: str = DEFAULT,
        *,
        confidence: float = CONFIDENCE,
        overlap: float = OVERLAP,
        size: int | None = None,
        device: str = "cpu",
    ) -> None:
        """Load weights.

        Args:
            source: Path of .pt, .onnx or .tflite weights, or a name that ultralytics publishes.
            confidence: Smallest score of a box, 0 to 1.
            overlap: Largest intersection over union of two boxes that both stay, 0 to 1.
            size: Side in pixels that pictures are fitted into; None is that of the training.
            device: As torch names it.
        """
        path = weights_file(source)
        self._model = YoloModel(path, device)
        self._classes = _person_classes(self._model.names, path)
        self._how: dict[str, Any] = {
            "conf": confidence,
            "iou": overlap,
            "classes": self._classes,
            # Padding to the smallest rectangle would let a picture's boxes depend on its batch.
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
    """The file of the weights; a published name is fetched into the cache."""
    path = Path(source).expanduser()
    if path.suffix not in FORMATS:
        raise ModelLoadError(
            f"weights={source!r} are not YOLO weights that can be read. Give a path that ends in "
            f"{', '.join(FORMATS)}, or a name such as {DEFAULT}."
        )
    if path.is_file():
        return path
    if looks_like_path(source) or "/" in source:
        raise ModelLoadError(
            f"there is no file {path}. Give the path of YOLO weights ({', '.join(FORMATS)}), or a "
            f"name such as {DEFAULT}, which is fetched."
        )
    return _fetched(source)


def _fetched(name: str) -> Path:
    """Weights by a published name; those that ``t2i fetch`` knows come with their checksum."""
    ultralytics()
    from ultralytics.utils.downloads import GITHUB_ASSETS_NAMES, attempt_download_asset

    if name not in GITHUB_ASSETS_NAMES:
        known = ", ".join(
            sorted(weights for weights in GITHUB_ASSETS_NAMES if weights.startswith("yolov8"))
        )
        raise ModelLoadError(
            f"ultralytics publishes no weights {name!r}, and there is no such file. It has, among "
            f"others, {known}."
        )
    target = cache_file().parent / "ultralytics" / name
    checked = next((one for one in published().values() if one.file == name), None)
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
    chosen = [number for number, name in names.items() if name == PERSON]
    if not chosen:
        known = ", ".join(list(names.values())[:8])
        raise ModelLoadError(
            f"{path} has no class {PERSON!r}; it knows {known}, ... Give weights that do, such as "
            f"{DEFAULT}."
        )
    return chosen
