"""t2i detector check: a detector of known mistakes on labelled pictures."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from pytest_t2i import Detection, Undetected
from pytest_t2i.cli.main import main

LABELS = ("male",) * 10 + ("female",) * 10 + ("low_quality",) * 4


class Careless:
    """Right of all men, of 7 of 9 women that it labels, and of one it says nothing."""

    fingerprint, labels = "careless-1", ("male", "female")

    def detect(self, images):
        return [self._of(image.getpixel((0, 0))[0]) for image in images]

    def _of(self, place):
        if place in (11, 20, 21, 22):
            return Detection(None, Undetected.NO_FACE)
        return Detection("male" if place < 14 else "female")


def careless(options):
    return Careless()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "set").mkdir()
    with (tmp_path / "set/labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "annotator", "label"])
        for place, label in enumerate(LABELS):
            Image.new("RGB", (8, 8), (place, 9, 9)).save(tmp_path / f"set/{place}.png")
            rows.writerow([f"{place}.png", "ann", label])
            rows.writerow([f"{place}.png", "bob", label])
    return tmp_path / "set"


def told(capsys, *arguments):
    assert main(["detector", "check", f"{__name__}:careless", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("source", ["set", "set/labels.csv"])
def test_what_it_gets_right_and_leaves_out_by_group(folder, capsys, source):
    lines = told(capsys, "--labels", source).splitlines()
    assert "on 24 labelled images, 20 of them clear; intervals of 95 %" in lines[0]
    assert lines[1].startswith("  male    right 1.000 [")
    assert "of 10, labels 1.000" in lines[1]
    assert lines[2].startswith("  female  right 0.667 [")
    assert "of 9, labels 0.900" in lines[2]
    assert lines[3].startswith("  together  right 0.842 [")
    assert lines[4].startswith("low-quality images left out: 0.750 [")
    assert lines[5].startswith("gap of accuracy between groups: 0.333 [")
    assert lines[6].startswith("gap of images without a label between groups: 0.100 [")
    assert "suites/detectors" in lines[-2]
    alike = "people: ann and bob give the same label to 24 of 24 images, Cohen's kappa 1.000 ["
    assert lines[-1].startswith(alike)


def test_the_second_time_it_is_not_asked_again(folder, capsys, monkeypatch):
    first = told(capsys, "--labels", "set")
    monkeypatch.setattr(Careless, "detect", lambda self, images: 1 / 0)
    assert told(capsys, "--labels", "set") == first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("clip", "--labels", "nowhere"), "folder of labelled images nowhere does not exist"),
        (("clipp", "--labels", "set"), "unknown detector 'clipp'. Did you mean 'clip'"),
    ],
)
def test_bad_input_is_one_message(folder, capsys, arguments, words):
    assert main(["detector", "check", *arguments]) == 2
    assert words in capsys.readouterr().err
