"""MiVOLO with a small network that brings code of its own in the same form, and its crops."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import tiny
from installed import needs
from PIL import Image

needs("ultralytics")

from pytest_t2i.adapters.detectors import mivolo
from pytest_t2i.adapters.detectors.mivolo import PersonsAndFaces, assigned, body, subject
from pytest_t2i.data import Box, Undetected
from pytest_t2i.errors import DetectorError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow


def picture(width=200, height=200):
    pixels = np.random.default_rng(0).integers(1, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture(autouse=True)
def _modules(monkeypatch, tmp_path):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "m"))


def options(source, **settings):
    return LoadOptions(source=str(source), device="cpu", **{"trust_remote_code": True, **settings})


@pytest.fixture
def detector():
    return mivolo.load(options(tiny.written(tiny.write_mivolo)))


def seeing(detector, monkeypatch, *found):
    monkeypatch.setattr(detector._boxes, "find", lambda images: list(found)[: len(images)])
    return detector


def test_without_consent_no_code_runs_and_the_remedy_is_said(tmp_path):
    folder = shutil.copytree(tiny.written(tiny.write_mivolo), tmp_path / "copy")
    (folder / "tiny_mivolo.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    for source in (str(folder), ""):
        with pytest.raises(ModelLoadError, match="--t2i-trust-remote-code"):
            mivolo.load(options(source, trust_remote_code=False))
    assert not (tmp_path / "ran").exists()


def test_higher_output_decides_male_first(detector, monkeypatch):
    person = PersonsAndFaces((Box(0, 0, 200, 200),), ())
    seeing(detector, monkeypatch, person)
    for row, label in (([1.0, 0.0], "male"), ([0.0, 1.0], "female")):
        monkeypatch.setattr(detector, "_genders", lambda _, row=row: [np.array(row, np.float32)])
        (result,) = detector.detect([picture()])
        assert result.label == label
        assert result.scores[label] == pytest.approx(1 / (1 + np.exp(-1)))
        assert result.detail == "body; 1 person"


def test_batches_do_not_change_the_outcome(detector, monkeypatch):
    monkeypatch.setattr(mivolo, "BATCH", 2)
    boxes = [
        PersonsAndFaces((Box(0, 0, 200, 150), Box(0, 0, 60, 60)), (Box(10, 10, 90, 90),)),
        PersonsAndFaces((), ()),
        PersonsAndFaces((), (Box(5, 5, 60, 70), Box(0, 0, 9, 9))),
        PersonsAndFaces((Box(20, 20, 180, 180),), ()),
    ]
    images = [picture()] * 4
    together = seeing(detector, monkeypatch, *boxes).detect(images)
    alone = [seeing(detector, monkeypatch, box).detect(images[:1])[0] for box in boxes]
    assert [entry.detail for entry in together] == [
        "face and body; 2 persons, the largest decides", "", "face; 2 faces, the largest decides",
        "body; 1 person",
    ]  # fmt: skip
    assert together[1].undetected is Undetected.NO_PERSON
    for a, b in zip(together, alone, strict=True):
        assert a.label == b.label
        assert a.scores == pytest.approx(b.scores)


def test_a_person_of_whom_too_little_is_seen(detector, monkeypatch):
    tiny_person = PersonsAndFaces((Box(0, 0, 40, 120),), ())
    (result,) = seeing(detector, monkeypatch, tiny_person).detect([picture()])
    assert result.undetected is Undetected.LOW_CONFIDENCE


def test_the_network_sees_colours_in_the_order_of_opencv(detector, monkeypatch):
    given = []
    processor = detector._processor

    def spy(images):
        given.extend(images)
        return processor(images)

    monkeypatch.setattr(detector, "_processor", spy)
    red = Image.new("RGB", (100, 100), (255, 0, 0))
    seeing(detector, monkeypatch, PersonsAndFaces((Box(0, 0, 100, 100),), ())).detect([red])
    face, crop = given
    assert face is None
    assert crop[0, 0].tolist() == [0, 0, 255]


def test_an_untrained_yolo_finds_nobody(detector):
    (result,) = detector.detect([picture(64, 64)])
    assert result.undetected is Undetected.NO_PERSON


def test_outputs_that_are_none(detector, monkeypatch):
    seeing(detector, monkeypatch, PersonsAndFaces((Box(0, 0, 200, 200),), ()))
    weight = detector._model.mivolo.weight
    weight.data *= np.nan
    with pytest.raises(DetectorError, match="two finite gender outputs"):
        detector.detect([picture()])


def changed(tmp_path, file, change):
    folder = shutil.copytree(tiny.written(tiny.write_mivolo), tmp_path / "copy")
    change(folder / file)
    return folder


def test_a_folder_that_brings_no_code(tmp_path):
    folder = changed(tmp_path, "config.json", lambda path: path.write_text("{}"))
    with pytest.raises(ModelLoadError, match="hf download"):
        mivolo.load(options(folder))


def test_weights_that_are_missing(tmp_path):
    folder = changed(tmp_path, "model.safetensors", lambda path: path.unlink())
    with pytest.raises(ModelLoadError, match="safetensors"):
        mivolo.load(options(folder))


def test_outputs_in_another_order_are_refused(tmp_path):
    def swap(path):
        config = json.loads(path.read_text())
        config["gender_id2label"] = {"0": "female", "1": "male"}
        path.write_text(json.dumps(config))

    with pytest.raises(ModelLoadError, match="gender outputs"):
        mivolo.load(options(changed(tmp_path, "config.json", swap)))


def test_a_yolo_without_faces_is_refused(tmp_path):
    (tmp_path / "other").mkdir()
    tiny.write_yolo(tmp_path / "other", names=("person", "dog"))
    folder = changed(tmp_path, "yolov8x_person_face.pt", lambda path: path.unlink())
    parts = {"mivolo-boxes": str(tmp_path / "other" / "yolo.pt")}
    with pytest.raises(ModelLoadError, match="'face'"):
        mivolo.load(options(folder, extra={"weights": parts}))


@pytest.mark.parametrize("name", ["model_imdb_cross_person_4.24_99.46.pth.tar", "absent/folder/of"])
def test_what_cannot_be_loaded_is_said(name):
    with pytest.raises(ModelLoadError, match=r"iitolstykh/mivolo_v2"):
        mivolo.load(options(name))


def test_faces_go_to_whom_they_lie_in():
    left, right = Box(0, 0, 50, 100), Box(60, 0, 100, 100)
    faces = (Box(70, 10, 90, 30), Box(10, 10, 30, 30), Box(200, 200, 220, 220))
    assert assigned(PersonsAndFaces((left, right), faces)) == [1, 0, None]
    assert assigned(PersonsAndFaces((), faces)) == [None, None, None]


def test_the_body_is_cut_without_faces_and_others():
    pixels = np.full((200, 200, 3), 200, np.uint8)
    others = PersonsAndFaces((Box(0, 0, 100, 200), Box(80, 0, 200, 200)), (Box(40, 10, 60, 30),))
    seen = subject(pixels, others)
    assert seen.face.shape == (20, 20, 3)
    # The neighbour is blackened to the edges, and what is black there is trimmed.
    assert seen.body.shape == (200, 80, 3)
    assert (seen.body[10:30, 40:60] == 0).all()
    assert (seen.body[40:] == 200).all()


def test_a_body_mostly_hidden_is_not_looked_at():
    pixels = np.full((200, 200, 3), 200, np.uint8)
    hidden = PersonsAndFaces((Box(0, 0, 100, 200), Box(30, 0, 130, 190)), ())
    assert body(pixels, hidden) is None
    assert body(pixels, PersonsAndFaces((Box(0, 0, 49, 200),), ())) is None
