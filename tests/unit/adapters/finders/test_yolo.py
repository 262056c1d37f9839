"""People by YOLO: classes by name, thresholds, wrong weights, and nothing of the user's touched."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import tiny
from installed import needs
from PIL import Image

from pytest_t2i.errors import ModelLoadError
from pytest_t2i.protocols import LoadOptions, PersonDetector

needs("ultralytics")

from pytest_t2i.adapters.finders import yolo
from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics

pytestmark = pytest.mark.slow


def pictures(count):
    rng = np.random.default_rng(3)
    return [
        Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)) for _ in range(count)
    ]


def untrained(**settings):
    path = tiny.written(tiny.write_yolo) / "yolo.pt"
    return yolo.YoloPersons(str(path), **{"confidence": 0.0001, **settings})


def test_people_come_largest_first_and_do_not_depend_on_their_batch():
    finder = untrained()
    assert isinstance(finder, PersonDetector)
    wide = Image.new("RGB", (96, 40), "teal")
    images = [*pictures(3), wide]
    result = finder.persons(images)
    assert any(result)
    for boxes in result:
        assert [box.area for box in boxes] == sorted((box.area for box in boxes), reverse=True)
    for image, boxes in zip(images, result, strict=True):
        (alone,) = untrained().persons([image])
        assert len(alone) == len(boxes)
        np.testing.assert_allclose(
            [b.area for b in alone], [b.area for b in boxes], rtol=1e-3, atol=0.5
        )
    assert finder.persons([]) == []


def test_only_the_class_called_person_counts():
    as_zero = untrained()._model
    numbers = {name: number for number, name in as_zero.names.items()}
    assert untrained()._classes == [numbers["person"]] != [0]


def test_thresholds_are_part_of_the_fingerprint():
    prints = {
        untrained(**settings).fingerprint
        for settings in ({}, {"confidence": 0.5}, {"overlap": 0.7}, {"size": 96})
    }
    assert len(prints) == 4


def test_confidence_and_overlap_drop_boxes():
    image = pictures(1)
    counts = [
        len(untrained(**settings).persons(image)[0])
        for settings in ({"overlap": 0.9}, {"overlap": 0.2}, {"confidence": 0.99})
    ]
    assert counts[0] >= counts[1] >= counts[2] == 0


def test_weights_without_people_are_refused(tmp_path):
    path = tiny.write_yolo(tmp_path, names=("cat", "dog")) / "yolo.pt"
    with pytest.raises(
        ModelLoadError, match="expected weights with the class 'person', got cat, dog"
    ):
        yolo.YoloPersons(str(path))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("model.bin", r"expected a path that ends in .pt, .onnx, .tflite"),
        ("./nowhere.pt", "does not exist"),
        ("owner/name.pt", "does not exist"),
        ("yolov99.pt", "'yolov99.pt': expected a file or a name .*yolov8n.pt"),
    ],
)
def test_wrong_weights(source, problem):
    with pytest.raises(ModelLoadError, match=problem):
        yolo.load(LoadOptions(source=source, device="cpu"))


@pytest.mark.parametrize("suffix", [".pt", ".onnx", ".tflite"])
def test_a_file_of_something_else_is_refused(tmp_path, suffix):
    wrong = tmp_path / f"wrong{suffix}"
    wrong.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelLoadError, match="wrong"):
        yolo.YoloPersons(str(wrong))


def test_a_published_name_that_cannot_be_fetched_is_told(monkeypatch, tmp_path):
    ultralytics()
    from ultralytics.utils import downloads

    def unreachable(*args, **kwargs):
        raise OSError("no route")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(downloads, "attempt_download_asset", unreachable)
    with pytest.raises(ModelLoadError, match="could not fetch them"):
        yolo.YoloPersons("yolov8s.pt")


def test_the_default_is_fetched_with_its_checksum_and_said(monkeypatch, tmp_path, capsys):
    from pytest_t2i.adapters import fetching

    def unreachable(weights):
        raise ModelLoadError(f"{weights.url} cannot be downloaded")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fetching, "fetch", unreachable)
    with pytest.raises(ModelLoadError, match=r"yolov8n\.pt cannot be downloaded"):
        yolo.YoloPersons()
    assert "t2i: fetching YOLOv8 nano" in capsys.readouterr().err
    lying = yolo.published()["yolov8n"].path
    lying.parent.mkdir(parents=True)
    lying.write_bytes(b"nothing of the kind")
    # It is not fetched again; what it holds is another matter.
    with pytest.raises(ModelLoadError, match=r"yolov8n\.pt: expected .* weights of a YOLO"):
        yolo.YoloPersons()


def test_nothing_is_written_for_the_user_and_nothing_sent(tmp_path):
    code = (
        "from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics; ultralytics()\n"
        "from ultralytics.utils import SETTINGS, events\n"
        "print(SETTINGS['sync'], events.events.enabled)\n"
    )
    home = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, check=True, env=home, cwd=tmp_path,
    )  # fmt: skip
    assert run.stdout.split() == ["False", "False"]
    assert not list(tmp_path.rglob("*ltralytics*"))


def test_quantised_weights_are_read_through_ultralytics(shared_data):
    pytest.importorskip("ai_edge_litert", reason=".tflite weights need ai-edge-litert")
    finder = yolo.YoloPersons(str(shared_data / "weights" / "yolov8n_int8.tflite"))
    with Image.open(shared_data / "people" / "000000030752.jpg") as image:
        (person,) = finder.persons([image])[0]
    assert person.score > 0.5


def test_other_libraries_stay_as_they_were():
    script = (
        "import numpy, torch, PIL.Image\n"
        "before = PIL.Image.open, torch.save, numpy.get_printoptions()\n"
        "from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics\n"
        "ultralytics()\n"
        "assert (PIL.Image.open, torch.save, numpy.get_printoptions()) == before\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
