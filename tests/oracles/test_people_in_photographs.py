"""People in photographs: an object detector's boxes against those that people drew.

A box is hit by one of the same person from an overlap (IoU) of 0.5 on, the surest box first. What a
finder sees within a crowd, around which people drew one box, is neither right nor wrong.

T2I_PEOPLE names a folder of photographs with labels.json (file, objects with label, box and crowd),
T2I_PEOPLE_WEIGHTS those of a YOLO that knows people; without them the test data beside the project
are taken, where they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from installed import needs
from PIL import Image

needs("ultralytics")

from pytest_t2i.adapters.finders.yolo_objects import load
from pytest_t2i.data import Box
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow

SHARED = Path(__file__).parents[3] / "shared" / "data"
PHOTOGRAPHS = Path(os.environ.get("T2I_PEOPLE", SHARED / "people"))
WEIGHTS = Path(os.environ.get("T2I_PEOPLE_WEIGHTS", SHARED / "weights" / "yolov8n_int8.tflite"))
RUNTIMES = {".tflite": "ai_edge_litert", ".onnx": "onnxruntime"}
"""Format of weights -> module that it needs beside ultralytics."""
HIT = 0.5
WITHIN_CROWD = 0.5
"""Share of a box that lies in a crowd's."""
LARGE = 0.05
"""Share of the picture that a large person takes up."""


class Photograph(NamedTuple):
    """People in one picture, drawn and seen, with the picture's pixels."""

    people: list[Box]
    crowds: list[Box]
    seen: list[Box]
    area: float


class Agreement(NamedTuple):
    """Boxes hit, missed and seen where nobody is."""

    hit: int
    missed: int
    wrong: int

    @property
    def precision(self) -> float:
        """Share of the seen boxes that are people."""
        return self.hit / max(self.hit + self.wrong, 1)

    @property
    def recall(self) -> float:
        """Share of the people that are seen."""
        return self.hit / max(self.hit + self.missed, 1)


@pytest.fixture(scope="module")
def photographs() -> list[Photograph]:
    """All pictures, each looked at by the finder."""
    for path in (PHOTOGRAPHS / "labels.json", WEIGHTS):
        if not path.is_file():
            pytest.skip(f"there is no {path.name}: T2I_PEOPLE and T2I_PEOPLE_WEIGHTS name it")
    needs(*(module for ending, module in RUNTIMES.items() if WEIGHTS.suffix == ending))
    entries = json.loads((PHOTOGRAPHS / "labels.json").read_text(encoding="utf-8"))
    images = [Image.open(PHOTOGRAPHS / entry["file"]).convert("RGB") for entry in entries]
    finder = load(LoadOptions(source=str(WEIGHTS), device="cpu"))
    return [
        Photograph(
            _drawn(entry, crowd=False),
            _drawn(entry, crowd=True),
            [each.box for each in objects if each.name == "person"],
            float(image.width * image.height),
        )
        for entry, image, objects in zip(entries, images, finder.objects(images), strict=True)
    ]


def _drawn(entry: Any, *, crowd: bool) -> list[Box]:
    people = (each for each in entry["objects"] if each["label"] == "person")
    return [Box(*each["box"]) for each in people if bool(each["crowd"]) is crowd]


def agreement(pictures: Iterable[Photograph], least: float = 0.0) -> Agreement:
    """Of all pictures; people smaller than the least share of a picture count for nothing."""
    each = [_agreement(picture, least) for picture in pictures]
    return Agreement(*(sum(of) for of in zip(*each, strict=True)))


def _agreement(picture: Photograph, least: float) -> Agreement:
    people, taken, wrong = picture.people, dict[int, Box](), 0
    for box in sorted(picture.seen, key=lambda seen: -seen.score):
        overlaps = {k: overlap(box, person) for k, person in enumerate(people) if k not in taken}
        nearest = max(overlaps, key=lambda k: overlaps[k], default=-1)
        if nearest >= 0 and overlaps[nearest] >= HIT:
            taken[nearest] = box
        elif box.area >= least * picture.area and not _in_crowd(box, picture.crowds):
            wrong += 1
    counted = [k for k, person in enumerate(people) if person.area >= least * picture.area]
    hit = sum(k in taken for k in counted)
    return Agreement(hit, len(counted) - hit, wrong)


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    shared = _shared(one, other)
    return shared / (one.area + other.area - shared) if shared else 0.0


def _in_crowd(box: Box, crowds: Sequence[Box]) -> bool:
    return any(_shared(box, crowd) >= WITHIN_CROWD * box.area for crowd in crowds)


def _shared(one: Box, other: Box) -> float:
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    return max(width, 0.0) * max(height, 0.0)


# The runtime of .tflite says what it does on its own channel, and warns of itself.
@pytest.mark.filterwarnings("ignore")
def test_people_are_boxed_as_people_box_them(photographs):
    everybody, large = (agreement(photographs, least) for least in (0.0, LARGE))
    print(f"all: {everybody}, large: {large}")
    assert everybody.hit + everybody.missed >= 50, "too few people to tell"
    assert everybody.precision >= 0.85
    assert everybody.recall >= 0.45
    assert large.precision >= 0.9
    assert large.recall >= 0.7


def test_boxes_are_compared_as_told():
    drawn, beside = Box(0, 0, 10, 10), Box(100, 0, 110, 10)
    crowd = Box(200, 0, 300, 100)
    seen = [
        Box(0, 0, 10, 9, 0.9), Box(0, 0, 10, 8, 0.8), Box(210, 10, 220, 20, 0.7),
        Box(104, 0, 114, 10, 0.6),
    ]  # fmt: skip
    picture = Photograph([drawn, beside], [crowd], seen, 10_000.0)
    # A second box of the same person and one that lies too far off are wrong; the crowd's is none.
    assert agreement([picture]) == Agreement(hit=1, missed=1, wrong=2)
    assert agreement([picture, picture], least=0.05) == Agreement(0, 0, 0)
    assert overlap(drawn, Box(0, 0, 10, 5)) == 0.5
