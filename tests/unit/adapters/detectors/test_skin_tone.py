"""skin-tone: the places it looks at, what it leaves out, and when it gives no label."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pytest
from installed import needs
from PIL import Image, ImageDraw, ImageOps

from pytest_t2i.data import Box, Undetected
from pytest_t2i.errors import ConfigurationError, MissingExtraError
from pytest_t2i.labels.vocabulary import named
from pytest_t2i.protocols import LoadOptions

needs("skimage")
from pytest_t2i.adapters.detectors import skin_tone

POINTS = ((96, 108), (160, 108), (128, 140), (104, 176), (152, 176))
FACE = Box(48, 28, 208, 228, 1.0, POINTS)
BROWN, LIGHT = "#825c43", "#eadaba"


class Finder:
    fingerprint = "finder-1"

    def __init__(self, *faces):
        self.found = faces

    def faces(self, images):
        return [self.found for _ in images]


def portrait(skin=BROWN, *marks):
    """A disc of skin on blue, with boxes of another colour drawn over it."""
    picture = Image.new("RGB", (256, 256), "#3366cc")
    draw = ImageDraw.Draw(picture)
    draw.ellipse((48, 28, 208, 228), skin)
    for box, colour in marks:
        draw.rectangle(box, colour)
    return picture


def look(picture, *faces, labels=skin_tone.TONES):
    (said,) = skin_tone.SkinTone(Finder(*(faces or (FACE,))), labels).detect([picture])
    return said


def test_the_tones_are_those_that_people_label():
    choices = [choice for choice in named("monk").choices if choice.clear]
    assert tuple(choice.name for choice in choices) == skin_tone.TONES
    assert tuple(choice.colour for choice in choices) == skin_tone.MONK


@pytest.mark.parametrize("number", range(1, 11))
def test_skin_of_a_tone_has_that_tone_and_its_group(number):
    said = look(portrait(skin_tone.MONK[number - 1]))
    assert (said.label, said.scores["monk"]) == (f"monk-{number}", number)
    group = "light" if number < 5 else "medium" if number < 8 else "dark"
    assert look(portrait(skin_tone.MONK[number - 1]), labels=skin_tone.GROUPS).label == group


def test_ita_falls_from_light_to_dark_skin():
    # Chardon et al. 1991: very light skin lies above 55 degrees, dark skin below -30.
    angles = [look(portrait(colour)).scores["ita"] for colour in skin_tone.MONK]
    assert angles == sorted(angles, reverse=True)
    assert angles[0] > 55
    assert angles[-1] < -30


@pytest.mark.parametrize(
    "mark",
    [
        ((70, 20, 186, 80), "#181818"),  # a fringe over the whole forehead
        ((80, 92, 176, 126), "#101010"),  # dark glasses
        ((100, 160, 156, 190), "#c02040"),  # lips
        ((80, 136, 90, 156), "#ffffff"),  # a highlight on a cheek
    ],
)
def test_what_is_no_skin_is_left_out(mark):
    assert look(portrait(BROWN, mark)).label == "monk-7"


def test_a_turned_and_a_mirrored_face_have_the_same_tone():
    turned = portrait(BROWN, ((70, 20, 186, 80), "#181818")).rotate(25)
    angle = np.deg2rad(-25)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = tuple(map(tuple, (np.array(POINTS) - 128) @ turn.T + 128))
    assert look(turned, Box(40, 20, 216, 236, 1.0, points)).label == "monk-7"
    assert look(ImageOps.mirror(portrait())).label == "monk-7"


def small(face):
    points = tuple((128 + (x - 128) / 5, 128 + (y - 128) / 5) for x, y in face.landmarks)
    return Box(112, 108, 144, 148, 1.0, points)


@pytest.mark.parametrize(
    ("picture", "face", "why"),
    [
        (portrait(BROWN, ((128, 0, 256, 256), LIGHT)), FACE, "light is uneven: the cheeks differ"),
        (portrait(), small(FACE), "the face is small: its eyes are 13 pixels apart"),
        (portrait().convert("L"), FACE, "the picture is not in colour"),
        (
            portrait(),
            Box(0, 0, 9, 9, 1.0, tuple((x - 180, y) for x, y in POINTS)),
            "a cheek lies outside the picture",
        ),
    ],
)
def test_there_is_no_label_and_a_reason(picture, face, why):
    said = look(picture, face)
    assert said.undetected is Undetected.LOW_CONFIDENCE
    assert said.detail.startswith(why)


def test_one_face_is_measured_and_landmarks_are_needed():
    nobody = skin_tone.SkinTone(Finder()).detect([portrait()])[0]
    assert nobody.undetected is Undetected.NO_FACE
    assert look(portrait(), FACE, FACE).undetected is Undetected.MULTIPLE_PEOPLE
    with pytest.raises(ConfigurationError, match="skin-tone:yunet or skin-tone:mtcnn"):
        look(portrait(), Box(48, 28, 208, 228))


@pytest.mark.parametrize(
    ("source", "finder", "labels"),
    [
        ("", "yunet", skin_tone.GROUPS),
        ("mtcnn", "mtcnn", skin_tone.GROUPS),
        ("yunet:a/b.onnx", "yunet:a/b.onnx", skin_tone.GROUPS),
        ("tones", "yunet", skin_tone.TONES),
        ("tones:mtcnn", "mtcnn", skin_tone.TONES),
    ],
)
def test_the_source_names_finder_and_labels(monkeypatch, source, finder, labels):
    asked = []
    monkeypatch.setattr(skin_tone, "face_part", lambda _, name: asked.append(name) or Finder())
    detector = skin_tone.load(LoadOptions(source=source))
    assert (asked, detector.labels) == ([finder], labels)


def test_the_fingerprint_follows_labels_and_finder():
    other = Finder()
    other.fingerprint = "finder-2"
    three = [
        skin_tone.SkinTone(Finder()),
        skin_tone.SkinTone(Finder(), skin_tone.TONES),
        skin_tone.SkinTone(other),
    ]
    assert len({detector.fingerprint for detector in three}) == 3


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, skin_tone.__name__)
    for module in ("skimage", "skimage.color", "skimage.draw"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"detector skin-tone.*pytest-t2i\[skin-tone\]"):
        import_module(skin_tone.__name__)
