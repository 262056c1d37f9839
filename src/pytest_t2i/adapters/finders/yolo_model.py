"""A YOLO model through ultralytics, loaded without running code of the weights file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.devices import memory_guard
from pytest_t2i.adapters.finders.ultralytics_guard import contained, known_classes_only, ultralytics
from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.errors import ModelLoadError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = (".pt", ".onnx", ".tflite")
RUNTIMES = {".onnx": "onnx onnxruntime", ".tflite": "ai-edge-litert"}
"""Format -> packages that the format needs besides ultralytics."""


class YoloModel:
    """Weights of a detection model with the names of its classes."""

    def __init__(self, path: Path, device: str = "cpu") -> None:
        """Read the weights."""
        library = ultralytics()
        self._model, self.names = _read(library, path)
        # An exported graph has a fixed device and batch size, mostly of one picture.
        self.is_exported = path.suffix != ".pt"
        self._device = "cpu" if self.is_exported else device
        self.facts: Mapping[str, str] = {
            "weights": f"sha256:{file_digest(path)}",
            "ultralytics": str(library.__version__),
        }

    def look(self, images: Sequence[Image], what: str, **how: Any) -> list[Any]:
        """The boxes of every picture, as ultralytics returns them; ``what`` is for messages."""
        return [result.boxes for result in self.results(images, what, **how)]

    def results(self, images: Sequence[Image], what: str, **how: Any) -> list[Any]:
        """Boxes and any masks of every picture, as ultralytics returns them."""
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
            # Without a task, ultralytics guesses that of an exported graph, with a warning.
            model = library.YOLO(str(path), task="detect")
            # Reading the names loads an exported graph.
            return model, dict(model.names)
    except ModelLoadError:
        raise
    except (ModuleNotFoundError, SystemExit) as error:
        raise ModelLoadError(_runtime_missing(path, error)) from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelLoadError(
            f"{path}: expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]} weights of a YOLO "
            "detection model, got a file that ultralytics cannot read "
            f"({type(error).__name__}: {first})."
        ) from error


def _runtime_missing(path: Path, error: BaseException) -> str:
    remedy = RUNTIMES.get(path.suffix)
    message = f"{path} needs a library that is not installed ({error})."
    return f"{message} Run: pip install {remedy}" if remedy else message
