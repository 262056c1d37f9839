"""People's labels in the place of a detector."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.data import Undetected
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels import Label
from pytest_t2i.labels.as_detector import NO_LABEL, UNSETTLED_TOLD, load
from pytest_t2i.protocols import Detector, LoadOptions

COLOURS = {"one.png": "red", "two.png": "lime", "three.png": "blue", "four.png": "grey"}


def picture(colour):
    return Image.new("RGB", (8, 8), colour)


@pytest.fixture
def folder(tmp_path):
    for name, colour in COLOURS.items():
        picture(colour).save(tmp_path / name)
    labels.choose_vocabulary(tmp_path, labels.named("monk"))
    labels.write_labels(
        tmp_path,
        [
            Label("one.png", "monk-2", "ada"),
            Label("one.png", "monk-2", "bo"),
            Label("two.png", "monk-3", "ada"),
            Label("two.png", "monk-4", "bo"),
            Label("three.png", "low_quality", "ada"),
        ],
    )
    return tmp_path


def test_people_say_what_they_labelled(folder):
    people = load(LoadOptions(source=str(folder)))
    assert isinstance(people, Detector)
    assert people.labels == labels.named("monk").clear
    said = people.detect([picture(colour) for colour in COLOURS.values()])
    assert said[0].label == "monk-2"
    assert [one.undetected for one in said[1:]] == [Undetected.LOW_CONFIDENCE] * 3
    assert [one.detail for one in said[1:]] == [UNSETTLED_TOLD, "labelled low_quality", NO_LABEL]


def test_another_label_is_another_detector(folder):
    before = load(LoadOptions(source=str(folder))).fingerprint
    known = [Label("one.png", "monk-9", "ada")]
    labels.write_labels(folder, known)
    assert load(LoadOptions(source=str(folder))).fingerprint != before


def test_a_file_that_is_no_picture_is_nobody_s(folder):
    (folder / "two.png").write_bytes(b"no picture")
    people = load(LoadOptions(source=str(folder)))
    assert people.detect([picture("lime")])[0].detail == NO_LABEL


def test_a_folder_must_be_named():
    with pytest.raises(ConfigurationError, match=r"people:FOLDER"):
        load(LoadOptions())


def test_a_picture_is_known_as_detectors_see_it(folder):
    """Turned as its camera was; what only another program could decode is never opened."""
    turned, exif = Image.effect_noise((8, 4), 50).convert("RGB"), Image.Exif()
    exif[0x0112] = 6
    turned.save(folder / "two.png", exif=exif)
    people = load(LoadOptions(source=str(folder)))
    upright = turned.transpose(Image.Transpose.ROTATE_270)
    assert people.detect([upright])[0].detail == UNSETTLED_TOLD
