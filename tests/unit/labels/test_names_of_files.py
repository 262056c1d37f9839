"""A name of a file is taken as it is written, where there is such a file."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from pytest_t2i.adapters.models.manifest import listed_in, read_manifest
from pytest_t2i.labels import Label, read_labels, write_labels
from pytest_t2i.labels.attributes import Grouping, groups_of

NAMES = ("a.png", " a.png", "a.png ", "  a.png", "=1.png", "'=1.png", "''=1.png", "@b.png",
         "'@b.png", "'tis.png", "+c.png", "-d.png", "literal:'e.png'.png")  # fmt: skip
PAIRS = [(" a.png", "a.png"), ("'=1.png", "=1.png"), ("'@b.png", "@b.png"), ("a.png ", "a.png")]


@pytest.fixture
def folder(tmp_path):
    for place, name in enumerate(NAMES):
        Image.new("RGB", (8, 8), (place, 0, 0)).save(tmp_path / name, "PNG")
    return tmp_path


def cells(name):
    return [name, f'"{name}"']


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_labels_are_those_of_the_named_picture(folder, name, other, quoted):
    rows = [f"{cells(name)[quoted]},male,ada", f"{other},female,ada"]
    (folder / "labels.csv").write_text("\n".join(["file,label,annotator", *rows]) + "\n")
    assert {label.file: label.label for label in read_labels(folder)} == {
        name: "male",
        other: "female",
    }
    groups = groups_of(folder / "labels.csv", [Grouping.read("label")])
    assert set(groups["label"]) == {name, other}


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_a_manifest_lists_the_named_picture(folder, name, other, quoted):
    rows = [f"a nurse,{cells(name)[quoted]}", f"a pilot,{other}"]
    (folder / "manifest.csv").write_text("\n".join(["prompt,file", *rows]) + "\n")
    entries = read_manifest(folder).entries
    assert [entry.file for entry in entries] == [name, other]
    assert [file for file, _ in listed_in(folder, "prompt")] == [name, other]


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_of_json_lists_it_too(folder, name):
    (folder / "manifest.json").write_text(json.dumps([{"file": name, "prompt": "a nurse"}]))
    assert [entry.file for entry in read_manifest(folder).entries] == [name]


def test_a_blank_that_is_no_part_of_a_name_is_left_out(folder):
    (folder / " a.png").unlink()
    (folder / "'=1.png").unlink()
    (folder / "labels.csv").write_text(
        "file, label, annotator\n  a.png , male, ada\n'=1.png, male, ada\n"
    )
    assert {label.file for label in read_labels(folder)} == {"a.png", "=1.png"}
    (folder / "labels.csv").write_text("label, file, annotator\nmale, a.png, ada\n")
    assert {label.file for label in read_labels(folder)} == {"a.png"}


def test_labels_that_we_write_are_those_of_the_same_pictures(folder):
    labels = [Label(name, ("male", "female")[k % 2], "ada") for k, name in enumerate(NAMES)]
    write_labels(folder, labels)
    assert sorted(read_labels(folder), key=str) == sorted(labels, key=str)
