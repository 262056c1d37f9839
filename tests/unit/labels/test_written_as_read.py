"""Labels are read as they were written, whatever characters they hold; the log goes only then."""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.adapters.tables import LITERAL, literal, of_cell
from pytest_t2i.errors import StoreError
from pytest_t2i.files import is_relative
from pytest_t2i.labels import Label, labels_csv

ANY = st.text(st.characters(exclude_categories=()), max_size=12)
ODD = st.sampled_from(
    [
        "\u200f", "\u202e", "\ufeff", "\x85", "\u2028", "\x1b[31m", "\r", "\n", "\r\n", "\t", " ",
        "'", "'=", "=1+1", "+", "-", "@", '"', '""', ",", ";", "\\", "\\u200f", "\udcff", "\ud83d",
        "\ude00", "\U0001f600", "\xa0", "\x00", LITERAL, f"{LITERAL}'a'", "e\u0301", "\xe9", "#",
    ]
)  # fmt: skip
TEXT = st.lists(ODD | ANY, max_size=4).map("".join)
NAME = TEXT.map(lambda text: f"{text}a.png").filter(is_relative)
WHO = TEXT.filter(str.strip)

NAMES = {
    "right-to-left mark first": "\u200f\u05e9\u05dc.png",
    "right-to-left override": "a\u202egpj.png",
    "byte-order mark first": "\ufeffa.png",
    "soft hyphen": "a\xadb.png",
    "joined emoji": "\U0001f469\u200d\U0001f680.png",
    "next line": "a\x85b.png",
    "next line at the end of a folder": "a\x85/b.png",
    "line separator": "a\u2028b.png",
    "carriage return": "a\rb.png",
    "line feeds": "a\n\nb.png",
    "escape sequence": "\x1b[2Ja.png",
    "formula": "=HYPERLINK(1).png",
    "apostrophe and formula": "'=1.png",
    "two apostrophes and formula": "''=1.png",
    "outer blanks": " a .png ",
    "no-break space first": "\xa0a.png",
    "tab first": "\ta.png",
    "no UTF-8": os.fsdecode(b"\xff\xfe.png"),
    "no UTF-8 and a mark": os.fsdecode("\u200f".encode() + b"\xe9.png"),
    "its own literal": literal("a.png") + ".png",
    "an escape that is none": "a\\u200fb.png",
    "quotes and commas": 'a","b".png',
}


def back(folder, written):
    labels.write_labels(folder, written)
    return labels.read_labels(folder)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.builds(Label, NAME, st.just("male"), WHO, TEXT, TEXT, TEXT), max_size=4))
def test_every_text_comes_back(written):
    first = {(label.file, label.annotator): label for label in sorted(written, reverse=True)}
    with tempfile.TemporaryDirectory() as folder:
        assert sorted(back(Path(folder), first.values())) == sorted(first.values())
        assert {path.name for path in Path(folder).iterdir()} == {"labels.csv", ".labels.csv.lock"}


@pytest.mark.slow
@settings(deadline=None)
@given(st.builds(Label, NAME, st.just("male"), WHO, TEXT, TEXT, TEXT))
def test_every_text_comes_back_by_way_of_the_log(written):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels.record(folder, written)
        assert labels.read_labels(folder) == [written]
        labels.compact(folder)
        assert labels.read_labels(folder) == [written]
        labels.forget(folder, written.file, written.annotator)
        assert labels.read_labels(folder) == []


@given(TEXT)
def test_a_literal_is_exact_and_plain(text):
    assert of_cell(literal(text)) == text
    assert literal(text).isascii()
    assert literal(text).isprintable()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_pictures_of_any_name_are_labelled_and_found(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    with file.open("wb") as opened:
        Image.new("RGB", (4, 4)).save(opened, "PNG")
    pictures = labels.image_files(tmp_path)
    if not pictures:  # the suffix is not that of a picture
        pictures = [name]
    labels.record(tmp_path, Label(*pictures, "male", "ada"))
    labels.compact(tmp_path)
    assert not (tmp_path / ".labels.log").exists()
    assert [image.file for image in labels.load_labelled_set(tmp_path)] == [name]
    assert labels.load_labelled_set(tmp_path).fingerprint


@pytest.mark.parametrize(
    "name", ["\u200f\u05e9\u05dc.png", "a\u202eb.png", "a\x85b.png", "\x1b[2Ja.png"]
)
def test_names_are_in_the_table_as_they_are(tmp_path, name):
    labels.write_labels(tmp_path, [Label(name, "male", "ada")])
    with (tmp_path / "labels.csv").open(encoding="utf-8", newline="") as table:
        assert [row["file"] for row in csv.DictReader(table)] == [name]


@pytest.mark.parametrize("broken", ["", "x", "\u200f", '"', "\n"])
def test_the_log_and_the_table_stay_where_a_label_is_read_back_otherwise(
    tmp_path, monkeypatch, broken
):
    first, second = Label("1.png", "male", "ada"), Label("2.png", "female", "ada")
    labels.write_labels(tmp_path, [first])
    labels.record(tmp_path, second)
    table, log = (tmp_path / "labels.csv").read_bytes(), (tmp_path / ".labels.log").read_bytes()
    monkeypatch.setattr(
        labels_csv, "exact_cell", lambda text: broken + text[1:] if text == second.file else text
    )
    with pytest.raises(StoreError, match="expected to read back the labels as they were written"):
        labels.compact(tmp_path)
    assert (tmp_path / "labels.csv").read_bytes() == table
    assert (tmp_path / ".labels.log").read_bytes() == log
    monkeypatch.undo()
    assert labels.read_labels(tmp_path) == [first, second]
    labels.compact(tmp_path)
    assert labels.read_labels(tmp_path) == [first, second]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".labels.csv.lock", "labels.csv"]
