"""Single pictures without a run: what load gives."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i import Detection, T2IError, Undetected, load


def grey(prompts, seeds):
    return [Image.new("RGB", (8, 8), (seed, seed, seed)) for seed in seeds]


class Shade:
    fingerprint, labels = "shade-1", ("male", "female")

    def detect(self, images):
        return [Detection("female" if i.getpixel((0, 0))[0] > 100 else "male") for i in images]


def shade(options):
    return Shade()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def made(loaded, *requests):
    return [one.image.getpixel((0, 0))[0] for one in loaded.generate(requests)]


def test_pictures_are_made_as_a_run_makes_them():
    loaded = load(grey, steps=3)
    assert loaded.request("a nurse", 7).settings.steps == 3
    assert made(loaded, loaded.request("a nurse", 7), loaded.request("a nurse", 9)) == [7, 9]
    assert loaded.mitigation is None
    assert loaded.passes == 1.0


def test_the_detector_is_shown_only_what_can_be_seen():
    loaded = load(grey, detector=f"{__name__}:shade")
    pictures = [Image.new("RGB", (8, 8), (200, 0, 0)), Image.new("RGB", (8, 8)), None]
    assert [one.said for one in loaded.detect(pictures)] == [
        "female", Undetected.BLACK_IMAGE, Undetected.UNREADABLE
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mitigation": "nobody"}, "unknown mitigation 'nobody'"),
        ({"paint": "red"}, "unknown option 'paint'"),
        ({"steps": "many"}, "steps"),
    ],
)
def test_unknown_names_are_told(options, told):
    with pytest.raises(T2IError, match=told):
        load(grey, **options).request("a person", 0)
