"""The reference object detector: small, free of the machine it was made on, and right about drawn things."""

from __future__ import annotations

import random
import tomllib
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pytest_t2i_reference import catalogue
from pytest_t2i_reference.drawing import Drawing, draw_scene

if find_spec("ultralytics") is None or find_spec("cv2") is None:  # not imported here: they change other libraries
    pytest.skip("needs ultralytics", allow_module_level=True)

from pytest_t2i.adapters.finders.yolo_objects import YoloObjects
from pytest_t2i.data import Box, FoundObject, Mask

from training import objects, persons
from training.evaluate_finder import counted, objects_in, overlap
from training.objects import CLASSES, labels, masks, outline, with_rare_clothes
from training.yolo_data import Data, scenes, write_scenes

pytestmark = pytest.mark.slow

CATALOGUE = tomllib.loads(catalogue().read_text(encoding="utf-8"))
WEIGHTS = catalogue().parent / CATALOGUE["weights"]["yolo"]["reference-objects"]["path"]
COUNT = 80
LEAST_F1 = 0.95


@pytest.fixture(scope="module")
def drawings() -> list[Drawing]:
    rng = random.Random("objects-of-tests")
    return [draw_scene(scene, rng.randrange(2**31)) for scene in scenes(COUNT, rng)]


def test_weights_are_small_and_name_no_folder() -> None:
    assert WEIGHTS.stat().st_size <= 8_000_000
    with zipfile.ZipFile(WEIGHTS) as archive:
        pickled = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".pkl"))
    for trace in (b"/home/", b"/Users/", b"/tmp/", str(Path.home()).encode() + b"/"):
        assert trace not in pickled


def test_names_and_masks_of_drawn_scenes(drawings: list[Drawing]) -> None:
    counts = counted(drawings, list(objects_in(drawings, YoloObjects(str(WEIGHTS)))), limit=0.0)
    assert counts.f1 >= LEAST_F1
    assert np.mean(counts.overlaps) >= 0.8


def test_what_is_found_is_counted_once_and_by_its_name(drawings: list[Drawing]) -> None:
    drawing = next(each for each in drawings if len(list(masks(each))) == 2)
    (name, mask), (other, _) = masks(drawing)
    right = FoundObject(name, Box(0, 0, 1, 1, 0.9), Mask.of(mask))
    unsure, wrong = replace(right, box=Box(0, 0, 1, 1, 0.2)), replace(right, name=other)
    counts = counted([drawing], [[right, right, wrong, unsure]], limit=0.5)
    assert (counts.right, counts.wrong, dict(counts.missed)) == (1, 2, {other: 1})
    assert (counts.precision, counts.recall, counts.f1) == (1 / 3, 1 / 2, 2 / 5)
    assert counts.overlaps == [1.0]


def test_labels_are_outlines_of_the_masks(drawings: list[Drawing]) -> None:
    import cv2

    for drawing in drawings[:10]:
        lines = labels(drawing)
        drawn = list(masks(drawing))
        assert [CLASSES[int(line.split()[0])] for line in lines] == [name for name, _ in drawn]
        for name, mask in drawn:
            if name == "person":
                points = np.round(outline(mask) * 4 * mask.shape[0]).astype(np.int32)
                filled = cv2.fillPoly(np.zeros((512, 512), np.uint8), [points], 1)
                assert overlap(filled[2::4, 2::4] > 0, mask) > 0.9


def test_rare_clothes_are_worn_more_often_and_by_whom_they_suit() -> None:
    rng = random.Random(0)
    before = [scene for scene in scenes(1500, rng) if scene.people]
    after = [with_rare_clothes(scene, rng) for scene in before]
    assert [replace(scene, people=()) for scene in after] == [replace(scene, people=()) for scene in before]
    plain, dressed = ([person for scene in some for person in scene.people] for some in (before, after))
    for part, value, gender in (("headwear", "hijab", "woman"), ("facial_hair", "beard", "man")):
        had, has = ([getattr(person, part) == value for person in people] for people in (plain, dressed))
        assert sum(had) < sum(has)
        given = {person.gender for person, old, new in zip(plain, had, has, strict=True) if new > old}
        assert given == {gender}
    for old, new in zip(plain, dressed, strict=True):
        assert replace(new, headwear=old.headwear, facial_hair=old.facial_hair, garment=old.garment) == old


def test_only_scenes_to_train_on_are_changed(tmp_path: Path) -> None:
    data = Data({"train": 2, "val": 2}, CLASSES, labels, lambda scene, rng: replace(scene, kind="none", people=()))
    write_scenes(tmp_path, data, "seed", autoencoder=None)
    texts = {split: [path.read_text() for path in (tmp_path / "labels" / split).iterdir()] for split in data.images}
    assert not any(texts["train"])
    assert any(texts["val"])


@pytest.mark.parametrize("stage", [persons, objects])
def test_a_data_set_is_as_ultralytics_reads_it(stage, tmp_path: Path) -> None:
    data = Data({"train": 3, "val": 2}, stage.CLASSES, stage.labels)
    write_scenes(tmp_path, data, "seed", autoencoder=None)
    assert [len(list((tmp_path / "images" / split).iterdir())) for split in data.images] == [3, 2]
    described = (tmp_path / "data.yaml").read_text(encoding="utf-8")
    assert all(f"  {number}: {name}\n" in described for number, name in enumerate(stage.CLASSES))
    lines = (tmp_path / "labels" / "train" / "00000.txt").read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        number, *places = line.split()
        assert int(number) < len(stage.CLASSES)
        assert all(0 <= float(place) <= 1 for place in places)
