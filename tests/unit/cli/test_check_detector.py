"""t2i detector check: a detector of known mistakes on labelled pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

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
    cells = {line[:24].strip(): line[24:].strip() for line in lines[1:12]}
    assert cells["Accuracy, male"].startswith("1.000 [0.692, ")
    assert cells["female"].startswith("0.667 [")
    assert cells["overall"].startswith("0.842 [")
    assert cells["Recall"].startswith("0.950 [")
    assert cells["Filter rate"].startswith("0.750 [")
    assert "gap of images without a label between groups: 0.100 [" in lines[-3]
    assert "suites/detectors" in lines[-2]
    assert lines[-1].startswith("people: ann and bob: 24 of 24 images alike, Cohen's kappa 1.000 [")
    assert lines[-1].endswith("(95 %)")


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


AGES = ("20", "70")


@pytest.fixture
def by_age(tmp_path, monkeypatch):
    """Forty men and women, of whom ten of twenty young men are called women."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    folder = tmp_path / "set"
    folder.mkdir()
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "label", "annotator", "age", "tone"])
        for place in range(80):
            Image.new("RGB", (8, 8), (place, 9, 9)).save(folder / f"{place}.png")
            gender = "male" if place < 40 else "female"
            tone = "" if place == 79 else ("dark", "light")[place % 2]
            rows.writerow([f"{place}.png", gender, "ann", AGES[place % 40 >= 20], tone])
    return folder


class WeakOnTheYoung:
    """Calls ten of twenty young men women, at low scores."""

    fingerprint, labels = "weak-1", ("male", "female")

    def detect(self, images):
        return [self._of(image.getpixel((0, 0))[0]) for image in images]

    def _of(self, place):
        label = "male" if 10 <= place < 40 else "female"
        return Detection(label, scores={label: 0.6 if place < 10 else 0.97})


def weak(options):
    return WeakOnTheYoung()


def checked(capsys, *arguments):
    words = ["detector", "check", f"{__name__}:weak", "--labels", "set"]
    status = main([*words, *arguments])
    return status, capsys.readouterr()


def test_the_worst_group_is_named_with_its_interval(by_age, capsys):
    status, told = checked(capsys, "--by", "age=30,60")
    assert status == 0
    assert "Holm's method over 4 groups): male, age under 30" in told.out
    assert "worst group: male, age under 30, right 10 of 20: 0.500 [" in told.out
    assert "(at 95 % for all 4 groups together)" in told.out


def test_several_columns_are_crossed(by_age, capsys):
    status, told = checked(capsys, "--by", "age=30", "--by", "tone", "--certificate", "c.json")
    assert status == 0
    assert "male, age x tone under 30 x dark" in told.out
    plain = json.loads(Path("c.json").read_text())
    assert [split["attributes"] for split in plain["splits"]] == [
        [], ["age"], ["tone"], ["age", "tone"],
    ]  # fmt: skip
    young = plain["splits"][1]["groups"]["under 30"]
    assert young["confusion"]["male"] == {"female": 10, "male": 10}
    assert plain["splits"][1]["edges"] == [30.0]
    assert plain["images"] == 80
    assert plain["rubric"] is None


def test_equal_groups_have_no_weak_one(by_age, capsys):
    status, told = checked(capsys, "--by", "tone")
    assert status == 0
    assert "female, tone dark" in told.out
    assert "lowest share" in told.out or "worst group: male" in told.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--by", "height"), "'height'"),
        (("--by", "tone=30"), "expected a number as 'tone' for --by tone=30, got 'dark'"),
        (("--by", "age=30", "--by", "age=60"), "expected each column once, got age, age"),
        (
            ("--by", "tonne"),
            "no column 'tonne'; there are: file, label, annotator, age, tone. Is",
        ),
    ],
)
def test_columns_that_cannot_be_used_are_refused(by_age, capsys, arguments, expected):
    status, told = checked(capsys, *arguments)
    assert status == 2
    assert expected in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize("text", ["age=", "age=x", "age=60,30", "age=30,30", "=30", "age=nan", ""])
def test_edges_that_are_no_bands_are_refused(by_age, capsys, text):
    with pytest.raises(SystemExit) as ended:
        checked(capsys, "--by", text)
    assert ended.value.code == 2
    assert "--by" in capsys.readouterr().err
