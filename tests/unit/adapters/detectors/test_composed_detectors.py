"""Detectors that are put together from a face part, a person part and CLIP."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
from PIL import Image

from pytest_t2i.adapters.detectors.clip import GENDER, ClipDetector, load
from pytest_t2i.adapters.detectors.clip_enhance import ClipEnhance, cropped
from pytest_t2i.adapters.detectors.clip_enhance import load as load_enhance
from pytest_t2i.adapters.detectors.clip_prob import ClipProb
from pytest_t2i.adapters.detectors.clip_uncertain import SENTENCES, ClipUncertain
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.data import Attribute, Box, Undetected
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.protocols import Detector, LoadOptions, OpenSet

pytestmark = pytest.mark.slow

TURBAN = Attribute("turban", "with a turban", "without a turban")
FACE = Box(2, 2, 6, 6)


class Finder:
    """Faces or people that are given, picture by picture; remembers what it was shown."""

    fingerprint = "given"

    def __init__(self, *boxes):
        self.boxes, self.shown = boxes, []

    def faces(self, images):
        self.shown += images
        return [self.boxes[image.getpixel((0, 0))[0]] for image in images]

    persons = faces


class Encoder:
    """Similarity of a text by its length; remembers what it was shown."""

    fingerprint, logit_scale, provenance = "fixed", 10.0, {"weights": "none"}

    def __init__(self, **similarities):
        self.similarity, self.shown = similarities, []

    def similarities(self, images, texts):
        self.shown += images
        return np.array([[self._one(text) for text in texts] for _ in images], np.float32)

    def _one(self, text):
        words = text.lower().replace("a photo of a ", "").split()
        return max((self.similarity.get(word, 0.0) for word in words), default=0.0)


def numbered(*numbers, size=(10, 10)):
    """Pictures that the finders tell apart by their first pixel."""
    images = []
    for number in numbers:
        image = Image.new("RGB", size, "grey")
        image.putpixel((0, 0), (number, 0, 0))
        images.append(image)
    return images


def gender(encoder):
    return ClipDetector(encoder, GENDER)


# clip-prob


def test_prob_keeps_sure_answers_on_pictures_with_a_face():
    encoder = Encoder(male=0.9, female=0.1)
    detector = ClipProb(Finder((), (FACE,), (FACE, FACE)), gender(encoder))
    nothing, entry, two = detector.detect(numbered(0, 1, 2))
    assert nothing.undetected is Undetected.NO_FACE
    assert (entry.label, two.label) == ("male", "male")
    assert entry.scores["p(male)"] == pytest.approx(1 / (1 + np.exp(-8)), rel=1e-3)
    assert entry.scores["faces"] == 1
    assert len(encoder.shown) == 2
    assert isinstance(detector, Detector)
    assert isinstance(detector, OpenSet)


def test_prob_leaves_out_what_is_below_nine_tenths():
    unsure = ClipProb(Finder((FACE,)), gender(Encoder(male=0.31, female=0.1)))
    (tenths,) = unsure.detect(numbered(0))
    assert tenths.scores["p(male)"] == pytest.approx(0.89, abs=0.01)
    assert tenths.undetected is Undetected.LOW_CONFIDENCE
    assert tenths.detail == "p(male) = 0.891"
    assert unsure.for_attribute(TURBAN).detect(numbered(0))[0].label == "absent"


# clip-uncertain


def test_uncertain_asks_for_a_person_first():
    encoder = Encoder(person=0.2, object=0.3, man=0.9)
    (result,) = uncertain(encoder).detect(numbered(0))
    assert result.undetected is Undetected.NO_PERSON
    assert result.scores["object"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("similarities", "label", "reason"),
    [
        ({"man": 0.5, "woman": 0.4}, "male", None),
        ({"man": 0.5, "woman": 0.6}, "female", None),
        ({"man": 0.5, "uncertain": 0.6}, None, Undetected.LOW_CONFIDENCE),
        ({"man": 0.5, "woman": 0.5}, None, Undetected.LOW_CONFIDENCE),
    ],
)
def test_uncertain_takes_the_highest_of_three(similarities, label, reason):
    detector = uncertain(Encoder(object=0.0, person=0.0, **similarities))
    (result,) = detector.detect(numbered(0))
    assert (result.label, result.undetected) == (label, reason)
    assert detector.labels == ("male", "female")


def test_uncertain_looks_for_attributes_on_people_only():
    detector = uncertain(Encoder(person=0.2, object=0.1, turban=0.3)).for_attribute(TURBAN)
    assert detector.labels == ("present", "absent")
    assert detector.detect(numbered(0))[0].label == "absent"
    objects = uncertain(Encoder(person=0.1, object=0.2)).for_attribute(TURBAN)
    assert objects.detect(numbered(0))[0].undetected is Undetected.NO_PERSON


def uncertain(encoder):
    return ClipUncertain(encoder, ClipDetector(encoder, SENTENCES))


# clip-enhance

LARGE, HALF, MORE = Box(0, 0, 10, 8), Box(0, 0, 5, 8), Box(0, 0, 5.1, 8)


def enhance(faces, persons, encoder=None):
    return ClipEnhance(faces, persons, gender(encoder or Encoder(male=0.9)))


def test_enhance_filters_in_its_order_and_crops_to_the_largest_person():
    faces = Finder((), (FACE, FACE), (FACE,), (FACE, FACE), (FACE,))
    persons = Finder((LARGE,), (), (LARGE, MORE), (LARGE, HALF), (Box(1, 2, 7, 9),))
    encoder = Encoder(male=0.9)
    result = enhance(faces, persons, encoder).detect(numbered(0, 1, 2, 3, 4))
    assert [entry.undetected for entry in result] == [
        Undetected.NO_FACE,
        Undetected.NO_PERSON,
        Undetected.MULTIPLE_PEOPLE,
        None,
        None,
    ]
    assert len(persons.shown) == 4
    assert [image.size for image in encoder.shown] == [(10, 8), (6, 7)]
    assert result[3].scores["second person"] == pytest.approx(0.5)
    assert (result[3].scores["faces"], result[3].scores["people"]) == (2, 2)
    assert result[2].detail == "people: 80 %, 41 % of the picture"


def test_a_single_face_without_a_person_is_a_close_portrait_and_looked_at_whole():
    encoder = Encoder(male=0.9)
    detector = enhance(Finder((), (FACE,), (FACE, FACE)), Finder((), (), ()), encoder)
    (nobody, portrait, crowd) = detector.detect(numbered(0, 1, 2))
    assert nobody.undetected is Undetected.NO_FACE
    assert (portrait.label, portrait.detail) == ("male", "no person found")
    assert crowd.undetected is Undetected.NO_PERSON
    assert [image.size for image in encoder.shown] == [numbered(1)[0].size]


def test_enhance_asks_for_attributes_on_the_same_crop():
    encoder = Encoder(turban=0.3)
    detector = enhance(Finder((FACE,), ()), Finder((Box(0, 0, 4, 5),), ()), encoder)
    turban = detector.for_attribute(TURBAN)
    result = turban.detect(numbered(0, 1))
    assert result[0].label in turban.labels
    assert result[1].undetected is Undetected.NO_FACE
    assert encoder.shown[0].size == (4, 5)
    assert turban.fingerprint != detector.fingerprint


def test_enhance_depends_on_its_parts():
    faces, persons = Finder((FACE,)), Finder((LARGE,))
    other = Finder((FACE,))
    other.fingerprint = "other"
    prints = {
        enhance(faces, persons).fingerprint,
        enhance(other, persons).fingerprint,
        enhance(faces, other).fingerprint,
        ClipEnhance(faces, persons, gender(Encoder()), second=0.6).fingerprint,
    }
    assert len(prints) == 4


def test_enhance_can_leave_the_framing_as_it_is():
    encoder = Encoder(male=0.9)
    faces, persons = Finder((FACE,)), Finder((Box(2, 2, 6, 9),))
    detector = ClipEnhance(faces, persons, gender(encoder), crop="grey")
    assert detector.detect(numbered(0))[0].label == "male"
    (seen,) = encoder.shown
    assert seen.size == (10, 10)
    assert seen.getpixel((9, 9)) == (127, 127, 127)
    assert seen.getpixel((3, 3)) == (128, 128, 128)
    assert detector.fingerprint != enhance(faces, persons, encoder).fingerprint
    with pytest.raises(UnknownNameError, match=r"unknown way to crop 'gray'. Did you mean 'grey'"):
        ClipEnhance(faces, persons, gender(encoder), crop="gray")


def test_a_crop_has_at_least_a_pixel_and_stays_inside():
    (image,) = numbered(0)
    assert cropped(image, Box(9.9, 9.9, 30, 30)).size == (1, 1)
    assert cropped(image, Box(12, 12, 13, 13)).size == (1, 1)
    assert cropped(image, Box(-5, -5, 30, 30)).size == (10, 10)


@pytest.mark.parametrize("make", ["prob", "uncertain", "enhance"])
def test_black_and_unreadable_pictures_reach_no_part(make):
    faces, encoder = Finder((FACE,)), Encoder(male=0.9, person=0.5, man=0.8)
    detector = {
        "prob": lambda: ClipProb(faces, gender(encoder)),
        "uncertain": lambda: uncertain(encoder),
        "enhance": lambda: enhance(faces, Finder((LARGE,)), encoder),
    }[make]()
    result = detector.detect([Image.new("RGB", (4, 4)), None, *numbered(0)])
    assert [entry.undetected for entry in result[:2]] == [
        Undetected.BLACK_IMAGE,
        Undetected.UNREADABLE,
    ]
    assert result[2].label == "male"


# loading


def test_three_clip_detectors_encode_every_picture_once(monkeypatch):
    options = LoadOptions(source=str(tiny.written(tiny.write_clip)), device="cpu")
    plain = load(options)
    encoder = plain.encoder
    encoded = []
    encode = encoder._encode_images
    monkeypatch.setattr(
        encoder, "_encode_images", lambda images: encoded.extend(images) or encode(images)
    )
    registries = Registries()
    registries.faces.update({"every": lambda options: Finder(*[(FACE,)] * 8)})
    given = LoadOptions(
        source=options.source,
        device="cpu",
        extra={"weights": {"faces": "every"}, "registries": registries},
    )
    others = ("clip-uncertain", "clip-prob")
    detectors = [plain, *(registries.detectors.get(name)(given) for name in others)]
    images = numbered(1, 2, 3, size=(32, 32))
    for detector in detectors:
        assert len(detector.detect(images)) == 3
    assert detectors[2].clip.encoder is encoder
    assert len(encoded) == 3


def test_unknown_face_part_is_answered_with_the_known():
    options = LoadOptions(device="cpu", extra={"weights": {"faces": "dlib-hogg"}})
    with pytest.raises(
        UnknownNameError, match=r"unknown face 'dlib-hogg'\. Did you mean 'dlib-hog'"
    ):
        load_enhance(options)
