"""What a detector says is checked before it is kept."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_t2i.data import Detection, Undetected
from pytest_t2i.errors import DetectorError
from pytest_t2i.generation.detector_calls import checked

LABELS = ("male", "female")


def test_scores_become_plain_numbers():
    given = Detection("male", scores={"male": np.float32(0.5), "female": 1})
    kept = checked(given, LABELS, "mine")
    assert kept.scores == {"male": 0.5, "female": 1.0}
    assert {type(score) for score in kept.scores.values()} == {float}


def test_undetected_needs_no_label():
    given = Detection(None, Undetected.NO_FACE)
    assert checked(given, LABELS, "mine") == given


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
        checked(given, LABELS, "mine")
    assert problem in str(raised.value)
