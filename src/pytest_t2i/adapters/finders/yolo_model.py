"""A YOLO through ultralytics: read without running anything, and asked one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.finders.ultralytics_guard import (
    contained,
    known_classes_only,
    ultralytics,
)
from pytest_t2i.adapters.support.devices import memory_guard
from pytest_t2i.adapters.support.digests import file_digest
from pytest_t2i.errors import ModelLoadError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = (".pt", ".onnx", ".tflite")
RUNTIMES = {".onnx": "onnx onnxruntime", ".tflite": "ai-edge-litert"}
"""Format -> packages that it needs besides ultralytics."""


class YoloModel:
    """Weights of a detection model with the names of its classes."""

    def __init__(self, path: Path, device: str = "cpu") -> None:
        """Read the weights.

        Raises:
            MissingExtraError: ultralytics is not installed.
            ModelLoadError: they are no such weights, or want to run code.
        """
        library = ultralytics()
        self._model, self.names = _read(library, path)
        # An exported graph has a device and a fixed batch of its own, mostly of one.
        self.is_exported = path.suffix != ".pt"
        self._device = "cpu" if self.is_exported else device
        self.facts: Mapping[str, str] = {
            "weights": f"sha256:{file_digest(path)}",
            "ultralytics": str(library.__version__),
        }

    def look(self, images: Sequence[Image], what: str, **how: Any) -> list[Any]:
        """The boxes of every picture, as ultralytics gives them; ``what`` is looked for."""
        return [result.boxes for result in self.results(images, what, **how)]

    def results(self, images: Sequence[Image], what: str, **how: Any) -> list[Any]:
        """Boxes and, of a segmentation model, masks of every picture, as ultralytics has them."""
        with memory_guard(f"looking for {what}"), contained():
            return list(
                self._model.predict(
                    list(images), batch=len(images), device=self._device, verbose=False,
                    save=False, **how,
                )
            )  # fmt: skip


def _read(library: Any, path: Path) -> tuple[Any, dict[int, str]]:
    try:
        with memory_guard(f"loading {path.name}"), contained(), known_classes_only():
            # The task of an exported graph is a guess, and a warning, unless it is said.
            model = library.YOLO(str(path), task="detect")
            # Asking for the names is what loads an exported graph.
            return model, dict(model.names)
    except ModelLoadError:
        raise
    except (ModuleNotFoundError, SystemExit) as error:
        raise ModelLoadError(_runtime_missing(path, error)) from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelLoadError(
            f"{path} is not a YOLO model that ultralytics can read ({type(error).__name__}: "
            f"{first}). Give {', '.join(FORMATS[:-1])} or {FORMATS[-1]} weights of a detection "
            "model."
        ) from error


def _runtime_missing(path: Path, error: BaseException) -> str:
    remedy = RUNTIMES.get(path.suffix)
    told = f"{path} needs a library that is not installed ({error})."
    return f"{told} Run: pip install {remedy}" if remedy else told
