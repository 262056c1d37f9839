"""The zero-shot CLIP detector."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tiny
from PIL import Image

from pytest_t2i.adapters.detectors.clip import ClipDetector, load
from pytest_t2i.data import Attribute, Undetected
from pytest_t2i.errors import DetectorError
from pytest_t2i.protocols import Detector, LoadOptions, OpenSet

pytestmark = pytest.mark.slow

MALE, FEMALE = "a photo of a male", "a photo of a female"


class Fixed:
    """An encoder whose similarities are given."""

    fingerprint = "fixed"
    logit_scale = 100.0

    def __init__(self, *rows):
        self.rows = np.array(rows, np.float32)

    def similarities(self, images, texts):
        self.texts = texts
        return self.rows[: len(images)]


def grey(n=1):
    return [Image.new("RGB", (8, 8), "grey")] * n


def truncated():
    buffer = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(buffer, "PNG")
    return Image.open(io.BytesIO(buffer.getvalue()[:200]))


def test_highest_similarity_gives_the_label_and_scores_keep_both():
    detector = ClipDetector(Fixed([0.21, 0.20], [0.1, 0.3]), {"male": MALE, "female": FEMALE})
    first, second = detector.detect(grey(2))
    assert (first.label, second.label) == ("male", "female")
    assert first.scores["male"] == pytest.approx(0.21)
    assert first.scores["p(male)"] == pytest.approx(1 / (1 + np.exp(-1)), rel=1e-4)
    assert first.scores["p(male)"] + first.scores["p(female)"] == pytest.approx(1)


def test_tie_is_no_gender_and_no_attribute():
    encoder = Fixed([0.2, 0.2])
    detector = ClipDetector(encoder, {"male": MALE, "female": FEMALE})
    assert detector.detect(grey())[0].undetected is Undetected.LOW_CONFIDENCE
    turban = detector.for_attribute(Attribute("turban", "with a turban", "without a turban"))
    assert turban.labels == ("present", "absent")
    assert turban.detect(grey())[0].label == "absent"
    assert encoder.texts == ["with a turban", "without a turban"]


def test_black_and_unreadable_pictures_are_undetected_and_order_is_kept():
    detector = ClipDetector(Fixed([0.3, 0.2], [0.2, 0.3]), {"male": MALE, "female": FEMALE})
    images = [Image.new("RGB", (8, 8)), *grey(), truncated(), *grey()]
    result = detector.detect(images)
    assert [entry.label for entry in result] == [None, "male", None, "female"]
    assert [entry.undetected for entry in result][::2] == [
        Undetected.BLACK_IMAGE,
        Undetected.UNREADABLE,
    ]
    assert detector.detect([]) == []


def test_features_that_are_not_finite_are_an_error():
    detector = ClipDetector(Fixed([np.nan, 0.2]), {"male": MALE, "female": FEMALE})
    with pytest.raises(DetectorError, match="expected finite CLIP features"):
        detector.detect(grey())


@pytest.mark.parametrize("write", [tiny.write_clip, tiny.write_open_clip])
def test_loads_either_library(write):
    detector = load(LoadOptions(source=str(tiny.written(write)), device="cpu"))
    assert isinstance(detector, Detector)
    assert isinstance(detector, OpenSet)
    assert detector.labels == ("male", "female")
    assert detector.detect(grey())[0].label in detector.labels


def test_fingerprints_tell_texts_apart():
    detector = load(LoadOptions(source=str(tiny.written(tiny.write_clip)), device="cpu"))
    others = [
        detector.for_attribute(Attribute("a", p, n)).fingerprint
        for p, n in (("x", "y"), ("y", "x"))
    ]
    assert len({detector.fingerprint, *others}) == 3
