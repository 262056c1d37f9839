"""What a detector says is checked before it is kept."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_t2i.data import Box, Detection, FoundObject, Mask, Undetected
from pytest_t2i.errors import DetectorError
from pytest_t2i.generation.detector_calls import checked_detection, checked_objects

LABELS = ("male", "female")


def test_scores_become_plain_numbers():
    given = Detection("male", scores={"male": np.float32(0.5), "female": 1})
    kept = checked_detection(given, LABELS, "mine")
    assert kept.scores == {"male": 0.5, "female": 1.0}
    assert {type(score) for score in kept.scores.values()} == {float}


def test_undetected_needs_no_label():
    given = Detection(None, Undetected.NO_FACE)
    assert checked_detection(given, LABELS, "mine") == given


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (Detection("male", scores={"male": math.nan}), "finite number as the score of 'male'"),
        (Detection("male", scores={"male": 10**9999}), "finite number as the score of 'male'"),
        (Detection("male", scores={"male": math.inf}), "finite number as the score of 'male'"),
        (Detection("male", scores={"male": "much"}), "got 'much'"),
        (Detection("nobody"), "'female'), got 'nobody'"),
        ("male", "expected a pytest_t2i.Detection for every image, got 'male'"),
        (SimpleNamespace(label="male"), "expected a pytest_t2i.Detection"),
    ],
)
def test_what_may_not_be_kept_names_the_detector(given, problem):
    with pytest.raises(DetectorError, match="detector 'mine'") as raised:
        checked_detection(given, LABELS, "mine")
    assert problem in str(raised.value)


BOX = Box(0, 0, 4, 4, 0.9)
SIZE = (6, 4)


def mask(height, width):
    return Mask.of(np.ones((height, width), bool))


def test_what_is_whole_is_kept():
    given = [FoundObject("tie", BOX, mask(4, 6)), FoundObject("hat", BOX)]
    assert checked_objects(given, SIZE, "mine") == tuple(given)
    assert checked_objects(iter(given), SIZE, "mine") == tuple(given)
    assert checked_objects([], SIZE, "mine") == ()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "expected a list of pytest_t2i.FoundObject for every image, got None"),
        (["tie"], "expected a list of pytest_t2i.FoundObject for every image, got 'tie'"),
        ([FoundObject(" ", BOX)], "expected a word as the name of an object, got ' '"),
        ([FoundObject(3, BOX)], "expected a word as the name of an object, got 3"),
        ([FoundObject("tie", (0, 0, 1, 1))], "expected a Box of finite numbers for 'tie'"),
        ([FoundObject("tie", Box(0, 0, math.nan, 4))], "expected a Box of finite numbers"),
        ([FoundObject("tie", Box(0, 0, "4", 4))], "expected a Box of finite numbers"),
        ([FoundObject("tie", BOX, mask(6, 4))],
         "the mask of 'tie' is 4 x 6 pixels, its picture 6 x 4: give masks as large as"),
        ([FoundObject("tie", BOX, np.ones((4, 6)))], "expected a pytest_t2i.Mask or None for"),
        ([FoundObject("tie", BOX, Mask(4, 6, (3, 3)))],
         "expected runs for 24 pixels in the mask of 'tie', got runs for 6"),
    ],
)  # fmt: skip
def test_what_may_not_be_kept_names_the_finder(given, problem):
    with pytest.raises(DetectorError, match="object detector 'mine': ") as raised:
        checked_objects(given, SIZE, "mine")
    assert problem in str(raised.value)
