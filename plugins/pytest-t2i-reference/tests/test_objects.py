"""The reference object finder: small, free of the machine it was made on, and right about drawn things."""

from __future__ import annotations

import random
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pytest_t2i_reference import catalogue
from pytest_t2i_reference.drawing import Drawing, draw_scene

if find_spec("ultralytics") is None or find_spec("cv2") is None:  # not imported here: they change other libraries
    pytest.skip("needs ultralytics", allow_module_level=True)

from pytest_t2i.adapters.finders.yolo_objects import YoloObjects

from training import objects, persons
from training.objects import CLASSES, labels, masks, outline
from training.yolo_data import Data, scenes, write_scenes

pytestmark = pytest.mark.slow

CATALOGUE = tomllib.loads(catalogue().read_text(encoding="utf-8"))
WEIGHTS = catalogue().parent / CATALOGUE["weights"]["yolo"]["reference-objects"]["path"]
COUNT = 80
LEAST_OVERLAP = 0.3
"""IoU of masks from which an object is the drawn one."""


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
    right = wrong = missed = 0
    overlaps = []
    found = YoloObjects(str(WEIGHTS)).objects([Image.fromarray(one.image) for one in drawings])
    for drawing, seen in zip(drawings, found, strict=True):
        left = list(seen)
        for name, mask in masks(drawing):
            same = [(_overlap(one.mask.pixels(), mask), one) for one in left if one.name == name and one.mask]
            best = max(same, key=lambda pair: pair[0], default=(0.0, None))
            if best[1] is not None and best[0] > LEAST_OVERLAP:
                right += 1
                overlaps.append(best[0])
                left.remove(best[1])
            else:
                missed += 1
        wrong += len(left)
    assert 2 * right / (2 * right + wrong + missed) >= 0.93
    assert np.mean(overlaps) >= 0.8


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
                assert _overlap(filled[2::4, 2::4] > 0, mask) > 0.9


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / (a | b).sum())


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
