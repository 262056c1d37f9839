"""Checkpoints of YOLO are pickles: nothing in one runs, whatever imported ultralytics before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import tiny
import torch
from installed import needs

from pytest_t2i.errors import ModelLoadError

needs("ultralytics")

from pytest_t2i.adapters.detectors.mivolo import PersonAndFaceFinder
from pytest_t2i.adapters.finders import ultralytics_guard, yolo, yolo_model
from pytest_t2i.adapters.finders.ultralytics_guard import contained, ultralytics

pytestmark = pytest.mark.slow

ultralytics()


class Call:
    """Unpickled, it is the result of a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def gadgets(marker):
    from ultralytics.nn.modules.block import TorchVision
    from ultralytics.nn.tasks import DetectionModel, parse_model, yaml_model_load
    from ultralytics.utils.downloads import safe_download

    shell = f"touch {marker}"
    return {
        "a command": Call(os.system, shell),
        "code": Call(eval, f"__import__('os').system({shell!r})"),
        "a module": Call(__import__, "this"),
        "a network by its class": Call(DetectionModel, "yolov8n.yaml"),
        "a network that is fetched": Call(TorchVision, "resnet18", "DEFAULT"),
        "a description": Call(
            parse_model, {"activation": f"__import__('os').system({shell!r})"}, 3
        ),
        "a file": Call(yaml_model_load, "yolov8n.yaml"),
        "a download": Call(safe_download, "http://127.0.0.1:9/a", str(marker)),
        "a partial call": Call(getattr, Call(__import__, "os"), "system"),
        "a layer by its class": Call(torch.nn.Linear, 1, 1),
    }


NAMES = list(gadgets(""))


@pytest.mark.parametrize("place", ["model", "train_args", "beside"])
@pytest.mark.parametrize("name", NAMES)
def test_no_call_of_a_checkpoint_is_made(tmp_path, monkeypatch, name, place):
    whole = torch.load(tiny.written(tiny.write_yolo) / "yolo.pt", weights_only=False)
    whole[place] = gadgets(tmp_path / "marker")[name]
    torch.save(whole, tmp_path / "evil.pt")
    monkeypatch.setattr("ultralytics.nn.tasks.SAFE_LOAD", False)
    with pytest.raises(ModelLoadError, match=r"evil\.pt: expected .* weights of a YOLO"):
        yolo.YoloPersons(str(tmp_path / "evil.pt"))
    with pytest.raises(ModelLoadError, match=r"evil\.pt: expected .* weights of a YOLO"):
        PersonAndFaceFinder(tmp_path / "evil.pt", "cpu")
    assert not (tmp_path / "marker").exists()
    # Networks can be made again.
    assert torch.nn.Linear(1, 1)


UNGUARDED = """
import ultralytics, sys
from ultralytics import YOLO
from pytest_t2i.adapters.finders.yolo import YoloPersons
from pytest_t2i.errors import ModelLoadError
print(len(YoloPersons(sys.argv[1])._classes))
try:
    YoloPersons(sys.argv[2])
except ModelLoadError as error:
    print("refused")
"""


def test_ultralytics_that_was_imported_before_without_any_guard(tmp_path):
    fine = tiny.written(tiny.write_yolo) / "yolo.pt"
    whole = torch.load(fine, weights_only=False)
    whole["epoch"] = Call(os.system, f"touch {tmp_path / 'marker'}")
    torch.save(whole, tmp_path / "evil.pt")
    environment = {**os.environ, "YOLO_CONFIG_DIR": str(tmp_path), "YOLO_OFFLINE": "true"}
    environment.pop("ULTRALYTICS_SAFE_LOAD", None)
    run = subprocess.run(
        [sys.executable, "-c", UNGUARDED, str(fine), str(tmp_path / "evil.pt")],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    assert run.stdout.split()[-2:] == ["1", "refused"]
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("absent", ["_SafeLoad", "SAFE_LOAD"])
def test_a_library_that_cannot_be_restricted_reads_no_checkpoint(monkeypatch, absent):
    monkeypatch.delattr(f"ultralytics.nn.tasks.{absent}")
    with pytest.raises(ModelLoadError, match="pip install --upgrade ultralytics"):
        yolo_model.YoloModel(tiny.written(tiny.write_yolo) / "yolo.pt")


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield 3
    torch.set_num_threads(before)


def test_torch_keeps_its_threads(three_threads, monkeypatch):
    given = []
    set_threads = torch.set_num_threads
    monkeypatch.setattr(torch, "set_num_threads", lambda n: (given.append(n), set_threads(n)))
    finder = yolo.YoloPersons(str(tiny.written(tiny.write_yolo) / "yolo.pt"))
    assert torch.get_num_threads() == three_threads
    finder.persons([tiny_picture()])
    assert torch.get_num_threads() == three_threads
    # Not even for a moment.
    assert set(given) <= {three_threads}


def test_a_changed_number_of_threads_is_put_back(three_threads):
    with contained():
        torch.set_num_threads(1)
    assert torch.get_num_threads() == three_threads


def tiny_picture():
    from PIL import Image

    return Image.new("RGB", (64, 64), "teal")


def test_importing_changes_neither_environment_nor_threads(tmp_path):
    script = (
        "import cv2, os, torch\n"
        "cv2.setNumThreads(3); torch.set_num_threads(3)\n"
        "before = dict(os.environ)\n"
        "from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics\n"
        "ultralytics()\n"
        "assert dict(os.environ) == before, set(os.environ) ^ set(before)\n"
        "assert (cv2.getNumThreads(), torch.get_num_threads()) == (3, 3)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, cwd=tmp_path)


def test_what_was_set_before_is_set_again(monkeypatch):
    from ultralytics.nn import tasks

    monkeypatch.setattr(tasks, "SAFE_LOAD", False)
    unpickle, made = tasks.torch_load, torch.nn.Module.__init__
    with ultralytics_guard.known_classes_only():
        assert tasks.SAFE_LOAD
    assert (tasks.SAFE_LOAD, tasks.torch_load) == (False, unpickle)
    assert torch.nn.Module.__init__ is made


def test_what_others_let_torch_rebuild_is_not_rebuilt_here(tmp_path):
    whole = torch.load(tiny.written(tiny.write_yolo) / "yolo.pt", weights_only=False)
    whole["epoch"] = Call(eval, f"open({str(tmp_path / 'marker')!r}, 'w').close()")
    torch.save(whole, tmp_path / "evil.pt")
    before = torch.serialization.get_safe_globals()
    with torch.serialization.safe_globals([eval]):
        with pytest.raises(ModelLoadError, match=r"evil\.pt: expected .* weights of a YOLO"):
            yolo.YoloPersons(str(tmp_path / "evil.pt"))
        assert eval in torch.serialization.get_safe_globals()
    assert not (tmp_path / "marker").exists()
    assert set(map(str, before)) == set(map(str, torch.serialization.get_safe_globals()))


def test_nothing_is_installed_on_the_word_of_a_file(monkeypatch):
    from ultralytics.utils import checks

    monkeypatch.setattr(checks, "AUTOINSTALL", True)
    with contained():
        assert not checks.AUTOINSTALL
    assert checks.AUTOINSTALL
