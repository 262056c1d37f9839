"""The reference YOLO: small, free of the machine it was made on, and right about drawn people."""

from __future__ import annotations

import random
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from pytest_t2i_reference import catalogue
from pytest_t2i_reference.drawing import Drawing, draw_scene
from pytest_t2i_reference.worlds import plain_scene

if find_spec("ultralytics") is None:  # not imported here: it changes other libraries
    pytest.skip("needs ultralytics", allow_module_level=True)

from pytest_t2i.adapters.finders.yolo import YoloPersons

pytestmark = pytest.mark.slow

CATALOGUE = tomllib.loads(catalogue().read_text(encoding="utf-8"))
WEIGHTS = catalogue().parent / CATALOGUE["weights"]["yolo"]["reference"]["path"]
COUNT = 24


@pytest.fixture(scope="module")
def finder() -> YoloPersons:
    return YoloPersons(str(WEIGHTS))


def drawings(kind: str) -> list[Drawing]:
    rng = random.Random(f"persons-{kind}")
    return [draw_scene(plain_scene(kind, rng), rng.randrange(2**31)) for _ in range(COUNT)]


def test_weights_are_small_and_name_no_folder() -> None:
    assert WEIGHTS.stat().st_size <= 8_000_000
    with zipfile.ZipFile(WEIGHTS) as archive:
        pickled = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".pkl"))
    for trace in (b"/home/", b"/Users/", b"/tmp/", str(Path.home()).encode() + b"/"):
        assert trace not in pickled


def test_classes_are_the_person_and_what_is_held_and_worn(finder: YoloPersons) -> None:
    names = list(finder._model.names.values())
    assert names[0] == "person"
    assert {"turban", "book", "laptop"} <= set(names)


@pytest.mark.parametrize("kind", ["one", "behind"])
def test_finds_the_one_person_where_it_was_drawn(finder: YoloPersons, kind: str) -> None:
    right = 0
    drawn = drawings(kind)
    for drawing, boxes in zip(drawn, finder.persons([Image.fromarray(one.image) for one in drawn]), strict=True):
        true = next(box for box in drawing.boxes() if box.part == "person")
        if len(boxes) == 1:
            (found,) = boxes
            width = min(found.right, true.right) - max(found.left, true.left)
            height = min(found.bottom, true.bottom) - max(found.top, true.top)
            shared = max(0.0, width) * max(0.0, height)
            right += shared / (found.area + true.area - shared) > 0.8
    assert right / COUNT >= 0.9


def test_nobody_is_found_where_nobody_was_drawn(finder: YoloPersons) -> None:
    found = finder.persons([Image.fromarray(one.image) for one in drawings("none")])
    assert sum(bool(boxes) for boxes in found) <= 1


def test_two_people_are_two(finder: YoloPersons) -> None:
    found = finder.persons([Image.fromarray(one.image) for one in drawings("two")])
    assert sum(len(boxes) == 2 for boxes in found) / COUNT >= 0.8
