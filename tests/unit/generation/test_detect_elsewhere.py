"""Detectors that look at an image where it was made."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import fakes
import pytest

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, GenerationError
from pytest_t2i.generation.detect_elsewhere import Looking, looking_factory, told
from pytest_t2i.generation.plan import DetectorRef, ImageNeeds
from pytest_t2i.generation.traces import asked
from pytest_t2i.protocols import LoadOptions

NEEDS = ImageNeeds(detectors=frozenset({DetectorRef("colour")}))
COLOUR = {"colour": (fakes.detector, LoadOptions())}


class Painter:
    """The fair model, which must not see what is asked of detectors; it may fail or refuse."""

    fingerprint = "painter"

    def __init__(self, fails_at: int | None = None, refuses: bool = False) -> None:
        self.fails_at, self.refuses = fails_at, refuses

    def generate(self, requests):
        for place, request in enumerate(requests):
            assert not request.detectors
            if place == self.fails_at:
                raise GenerationError("out of paint")
            made = fakes.fair(LoadOptions()).generate([request])
            yield Generated(None, refusal="no") if self.refuses else made[0]


def requests(count=6):
    return [asked(Request("a nurse", seed), NEEDS, looks=True) for seed in range(count)]


def looking(model) -> Looking:
    return looking_factory(lambda _: model, COLOUR)(LoadOptions())


def test_what_is_said_travels_with_the_image():
    made = list(looking(Painter()).generate(requests()))
    assert len(made) == 6
    for one in made:
        ((own, said),) = one.detections.items()
        assert own == "fake-detector-gender"
        assert said == fakes.detector(LoadOptions()).detect([one.image])[0]


def test_who_is_not_asked_does_not_look():
    plain = [Request("a nurse", 0), *requests(2)]
    made = list(looking(Painter()).generate(plain))
    assert [bool(one.detections) for one in made] == [False, True, True]


def test_what_came_before_an_error_is_looked_at():
    given = looking(Painter(fails_at=2)).generate(requests())
    assert len(next(given).detections) == len(next(given).detections) == 1
    with pytest.raises(GenerationError, match="out of paint"):
        next(given)


def test_a_refused_image_is_shown_to_nobody():
    made = list(looking(Painter(refuses=True)).generate(requests(2)))
    assert [one.detections for one in made] == [{}, {}]


def test_images_of_a_detector_that_fails_are_kept():
    class Broken(fakes.FakeDetector):
        def detect(self, images):
            raise RuntimeError("no lens")

    given = {"colour": (lambda _: Broken(), LoadOptions())}
    made = list(Looking(Painter(), given, "cpu").generate(requests(2)))
    assert [one.image is not None for one in made] == [True, True]
    assert [one.detections for one in made] == [{}, {}]


def test_the_factory_travels_and_an_unpicklable_detector_is_one_line():
    assert pickle.loads(pickle.dumps(looking_factory(fakes.fair, COLOUR)))
    with pytest.raises(ConfigurationError, match="detector 'mine' cannot be loaded in another"):
        looking_factory(fakes.fair, {"mine": (lambda _: None, LoadOptions())})


def detector_with(own: str):
    handle = SimpleNamespace(own_fingerprint=own, fingerprint="with its code")
    return lambda ref: handle


def test_what_was_said_is_kept_under_the_fingerprint_of_this_process():
    (one,) = looking(Painter()).generate(requests(1))
    said = told(detector_with("fake-detector-gender"), {"key": NEEDS}, {"key": one})
    assert said == {"with its code": {"key": one.detections["fake-detector-gender"]}}


def test_another_detector_in_the_workers_is_refused():
    (one,) = looking(Painter()).generate(requests(1))
    with pytest.raises(ConfigurationError, match="in the workers and in this process"):
        told(detector_with("other weights"), {"key": NEEDS}, {"key": one})
