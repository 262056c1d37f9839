"""What a detector does on the processor is done while the device makes images."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from PIL import Image

from pytest_t2i.adapters.detectors.clip_enhance import ClipEnhance
from pytest_t2i.adapters.detectors.clip_prob import ClipProb
from pytest_t2i.data import Box, Detection
from pytest_t2i.generation.detector_calls import detections_by

PICTURES = [Image.new("RGB", (64, 64), (k + 30, 90, 90)) for k in range(4)]
BLACK = Image.new("RGB", (64, 64))


class Turn:
    """Whether work has the device."""

    def __init__(self):
        self.is_held, self.count = False, 0

    @contextmanager
    def __call__(self):
        self.is_held, self.count = True, self.count + 1
        yield
        self.is_held = False


class Faces:
    """A face detector that remembers, as all of the project do."""

    fingerprint = "faces"

    def __init__(self, turn, *, needs_device=False):
        self.turn, self.needs_device, self.searched, self.known = turn, needs_device, [], {}

    def faces(self, images):
        new = [image for image in images if image.tobytes() not in self.known]
        self.searched += [self.turn.is_held] * len(new)
        self.known |= {image.tobytes(): (Box(10, 10, 40, 40, 1.0),) for image in new}
        return [self.known[image.tobytes()] for image in images]


class Persons:
    fingerprint = "persons"

    def persons(self, images):
        return [(Box(0, 0, 64, 64, 1.0),) for _ in images]


class Clip:
    """A CLIP that notes whether it has the device."""

    fingerprint, labels, made_for, provenance = "clip", ("male", "female"), "", {}

    def __init__(self, turn):
        self.turn, self.held = turn, []

    def detect(self, images):
        self.held.append(self.turn.is_held)
        return [Detection("male", scores={"p(male)": 1.0}) for _ in images]


DETECTORS = {
    "clip-enhance": lambda faces, clip: ClipEnhance(faces, Persons(), clip),
    "clip-prob": ClipProb,
}


@pytest.mark.parametrize("name", DETECTORS)
def test_faces_are_found_before_the_device_is_asked_for(name):
    turn = Turn()
    faces, clip = Faces(turn), Clip(turn)
    found = detections_by(DETECTORS[name](faces, clip), name, [*PICTURES, BLACK], turn)
    assert [detection.label for detection in found] == ["male"] * 4 + [None]
    assert faces.searched == [False] * 4
    assert clip.held == [True]


@pytest.mark.parametrize("name", DETECTORS)
def test_faces_that_the_device_finds_wait_for_it(name):
    turn = Turn()
    faces = Faces(turn, needs_device=True)
    detections_by(DETECTORS[name](faces, Clip(turn)), name, PICTURES, turn)
    assert faces.searched == [True] * 4


@pytest.mark.parametrize(("needs_device", "turns"), [(False, 0), (True, 1), (None, 1)])
def test_a_detector_of_the_processor_never_waits_for_the_device(needs_device, turns):
    turn = Turn()
    clip = Clip(turn)
    if needs_device is not None:
        clip.needs_device = needs_device
    detections_by(clip, "mine", PICTURES, turn)
    assert turn.count == turns


def test_an_error_while_looking_ahead_is_the_detectors():
    from pytest_t2i.errors import DetectorError

    class Broken(Clip):
        def look_ahead(self, images):
            raise ZeroDivisionError

    with pytest.raises(DetectorError, match="mine"):
        detections_by(Broken(Turn()), "mine", PICTURES)
