"""Every face part: what it finds, in which order, and what it says to wrong weights."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pytest
from PIL import Image

from pytest_t2i.adapters.finders import packaged
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.errors import MissingExtraError, ModelLoadError
from pytest_t2i.protocols import FaceDetector, LoadOptions

pytestmark = pytest.mark.slow

NEEDS = {
    "dlib-hog": "dlib",
    "dlib-cnn": "dlib",
    "mmod": "torch",
    "mtcnn": "facenet_pytorch",
    "yunet": "cv2",
}


def part(name, source="", **settings):
    pytest.importorskip(NEEDS[name], reason=f"{name} needs {NEEDS[name]}")
    module = import_module(f"pytest_t2i.adapters.finders.{name.replace('-', '_')}")
    return module.load(LoadOptions(source=source, device="cpu"))


@pytest.fixture
def weights(shared_data):
    return {"yunet": str(shared_data / "weights" / "yunet_n_640_640.onnx")}


def test_all_are_registered():
    assert set(NEEDS) <= set(Registry("face").names())


@pytest.mark.parametrize("name", ["dlib-hog", "mtcnn", "yunet"])
def test_finds_the_face_of_a_portrait_where_it_is(name, shared_data, weights):
    faces = part(name, weights.get(name, ""))
    image = opened(shared_data / "groups" / "obama.jpg").resize((300, 450))
    broken = Image.new("RGB", (300, 450), "grey")
    (first, *_), nothing, (again, *_) = faces.faces([image, broken, image])
    assert isinstance(faces, FaceDetector)
    assert nothing == ()
    assert first == again
    assert 0 < first.left < first.right < image.width
    assert 0 < first.top < first.bottom < image.height
    half = image.resize((150, 225))
    assert all(len(entry) <= 2 for entry in faces.faces([half]))


@pytest.mark.parametrize("name", ["dlib-hog", "mtcnn", "yunet"])
def test_several_faces_come_largest_first_and_a_picture_does_not_depend_on_its_batch(
    name, shared_data, weights
):
    faces = part(name, weights.get(name, ""))
    images = [
        opened(shared_data / "groups" / file).resize((400, 300))
        for file in ("two_people.jpg", "obama_and_biden.jpg", "biden.jpg")
    ]
    result = faces.faces(images)
    assert len(result[0]) >= 2
    for boxes in result:
        assert [box.area for box in boxes] == sorted((box.area for box in boxes), reverse=True)
    fresh = type(faces)(*([faces_path(weights)] if name == "yunet" else []))
    for image, boxes in zip(images, result, strict=True):
        (alone,) = fresh.faces([image])
        np.testing.assert_allclose(
            [(b.left, b.top, b.right, b.bottom) for b in alone],
            [(b.left, b.top, b.right, b.bottom) for b in boxes],
            atol=0.5,
        )


def faces_path(weights):
    from pathlib import Path

    return Path(weights["yunet"])


@pytest.mark.parametrize("name", ["dlib-hog", "mtcnn", "yunet"])
def test_tiny_and_empty_requests(name, weights, request):
    source = weights_or_skip(name, request)
    faces = part(name, source)
    assert faces.faces([]) == []
    assert faces.faces([Image.new("RGB", (8, 8), "white")]) == [()]


def opened(path):
    with Image.open(path) as image:
        return image.convert("RGB")


def weights_or_skip(name, request):
    return request.getfixturevalue("weights").get(name, "")


def test_landmarks_of_mtcnn_and_yunet_are_in_the_same_order(shared_data, weights):
    image = opened(min((shared_data / "faces").glob("*.jpg")))
    for name in ("mtcnn", "yunet"):
        (face,) = part(name, weights.get(name, "")).faces([image])[0]
        left_eye, right_eye, nose, left_mouth, right_mouth = face.landmarks
        assert left_eye[0] < right_eye[0]
        assert left_mouth[0] < right_mouth[0]
        assert left_eye[1] < nose[1] < left_mouth[1]


def test_cnn_takes_packaged_weights_or_a_path(shared_data, tmp_path):
    from pytest_t2i.adapters.finders.face_finder import CnnSettings

    dlib_cnn = import_module("pytest_t2i.adapters.finders.dlib_cnn") if part("dlib-hog") else None
    path = shared_data / "weights" / "mmod_human_face_detector.dat"
    small = dlib_cnn.DlibCnnFaces(path, CnnSettings(longest=None, upsampling=0))
    image = opened(min((shared_data / "faces").glob("*.jpg"))).resize((120, 120))
    assert len(small.faces([image])[0]) == 1
    assert small.fingerprint != dlib_cnn.DlibCnnFaces(path).fingerprint
    wrong = tmp_path / "mmod_human_face_detector.dat"
    wrong.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelLoadError, match=r"expected mmod_human_face_detector\.dat"):
        part("dlib-cnn", str(wrong))
    with pytest.raises(ModelLoadError, match="does not exist"):
        part("dlib-cnn", str(tmp_path / "nowhere.dat"))


def test_packaged_weights_are_found_without_importing_their_package(monkeypatch):
    assert packaged.packaged().is_file()
    assert packaged.PACKAGE not in sys.modules
    monkeypatch.setattr(packaged, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtraError, match=r'no_such_package.*"pytest-t2i\[clip-enhance\]"'):
        packaged.packaged()


def test_mmod_sees_what_dlibs_cnn_sees(shared_data):
    part("dlib-hog")
    from pytest_t2i.adapters.finders.dlib_cnn import DlibCnnFaces
    from pytest_t2i.adapters.finders.face_finder import CnnSettings
    from pytest_t2i.adapters.finders.mmod import MmodFaces

    files = sorted((shared_data / "faces").glob("*.jpg"))[:12]
    images = [opened(file).resize((130, 130)) for file in files]
    images.append(opened(shared_data / "people" / "000000030752.jpg").resize((160, 110)))
    small = CnnSettings(longest=None, upsampling=0)
    ours = MmodFaces(packaged.packaged(), small).faces(images)
    theirs = DlibCnnFaces(packaged.packaged(), small).faces(images)
    assert [len(boxes) for boxes in ours] == [len(boxes) for boxes in theirs]
    pairs = [(a[0], b[0]) for a, b in zip(ours, theirs, strict=True) if a and b]
    # dlib's sheet of pyramid levels shifts the grid of places within a level.
    assert np.mean([abs(a.score - b.score) for a, b in pairs]) < 0.1
    assert max(abs(a.left - b.left) / b.width for a, b in pairs) < 0.2
    assert max(abs(a.bottom - b.bottom) / b.height for a, b in pairs) < 0.2


def test_the_network_runs_on_one_thread_and_leaves_the_others_as_they_were(monkeypatch):
    import torch

    from pytest_t2i.adapters.finders.mmod import Mmod, MmodFaces

    before, seen = torch.get_num_threads(), []
    monkeypatch.setattr(Mmod, "faces", lambda *_: seen.append(torch.get_num_threads()) or [])
    torch.set_num_threads(3)
    try:
        finder = MmodFaces(packaged.packaged())
        assert finder.faces([Image.new("RGB", (64, 64))]) == [()]
        assert (seen, torch.get_num_threads()) == ([1], 3)
    finally:
        torch.set_num_threads(before)


def test_what_is_no_dlib_network_is_refused(tmp_path):
    wrong = tmp_path / "wrong.dat"
    wrong.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelLoadError, match=r"expected mmod_human_face_detector\.dat"):
        part("mmod", str(wrong))
    with pytest.raises(ModelLoadError, match="does not exist"):
        part("mmod", str(tmp_path / "nowhere.dat"))


@pytest.mark.parametrize(
    ("name", "source", "problem"),
    [
        ("dlib-hog", "x.dat", "has no weights to choose"),
        ("dlib-hog", "threshold=low", "dlib-hog:threshold=-0.5"),
        ("mtcnn", "x.pt", "has no weights to choose"),
        ("yunet", "", "yunet needs its weights. Run: t2i detector fetch yunet"),
        ("yunet", "nowhere.onnx", "does not exist"),
    ],
)
def test_wrong_weights(name, source, problem):
    with pytest.raises(ModelLoadError, match=problem):
        part(name, source)


def test_a_threshold_of_hog_changes_what_it_finds_and_its_fingerprint():
    usual, strict = part("dlib-hog"), part("dlib-hog", "threshold=0.7")
    assert strict.fingerprint != usual.fingerprint
    assert strict.provenance["threshold"] == "0.7"


def test_what_is_no_yunet_is_refused(tmp_path):
    wrong = tmp_path / "wrong.onnx"
    wrong.write_bytes(b"no graph")
    with pytest.raises(ModelLoadError, match="expected a YuNet model"):
        part("yunet", str(wrong))
