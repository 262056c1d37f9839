"""Labels by people: files, consensus, sets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.labels import Label


def pictures(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (len(name), 0, 0)).save(folder / name)
    return folder


def test_labels_come_back_as_they_were_written(tmp_path):
    mine = [
        Label("b/2.png", "others", "ada", 'a "statue", partly', "a person, sitting", "sdxl"),
        Label("1.png", "male", "bo"),
        Label("1.png", "female", "ada"),
    ]
    labels.write_labels(tmp_path, mine)
    assert labels.read_labels(tmp_path) == sorted(mine)
    assert (tmp_path / "labels.csv").read_text().splitlines()[0] == (
        "file,label,annotator,reason,prompt,model"
    )


def test_no_file_is_no_label(tmp_path):
    assert labels.read_labels(tmp_path) == []


def test_record_replaces_and_forget_takes_back(tmp_path):
    labels.record(tmp_path, Label("1.png", "male", "ada"))
    labels.record(tmp_path, Label("1.png", "female", "bo"))
    labels.record(tmp_path, Label("1.png", "female", "ada"))
    assert [read_label.label for read_label in labels.read_labels(tmp_path)] == ["female", "female"]
    labels.forget(tmp_path, "1.png", "ada")
    labels.forget(tmp_path, "2.png", "ada")
    assert labels.read_labels(tmp_path) == [Label("1.png", "female", "bo")]


def test_several_annotators_at_once_lose_nothing(tmp_path):
    def annotate(name):
        for k in range(10):
            labels.record(tmp_path, Label(f"{k}.png", "male", name))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(annotate, "abcd"))
    assert len(labels.read_labels(tmp_path)) == 40


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("file,label\n", "line 1: no column 'annotator'"),
        ("file,label,annotator\n1.png,man,ada\n", "line 2: label must be one of male, female"),
        ("file,label,annotator\n,male,ada\n", "line 2: file must not be empty"),
        ("file,label,annotator\na,male,ada,x\n", "line 2: more values than columns"),
        ("file,label,annotator\na,male,ada\na,female,ada\n", "ada says both male and female of a"),
        ('file,label,annotator\n"a,male,ada\n', "unexpected end of data"),
    ],
)
def test_malformed_labels_are_told_with_file_and_line(tmp_path, text, says):
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(FileFormatError, match=r"labels\.csv") as error:
        labels.read_labels(tmp_path)
    assert says in str(error.value)


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ConfigurationError, match="does not exist"):
        labels.read_labels(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="is a file, not a folder"):
        labels.image_files(tmp_path / "file")


def test_labels_in_a_spreadsheet_are_to_be_saved_as_csv(tmp_path):
    (tmp_path / "labels.xlsx").write_bytes(b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml")
    words = r"is an Excel workbook \(\.xlsx\): save it as labels\.csv in the folder"
    with pytest.raises(ConfigurationError, match=words):
        labels.read_labels(tmp_path / "labels.xlsx")
    with pytest.raises(ConfigurationError, match=r"There is labels\.xlsx: save it as labels\.csv"):
        labels.load_labelled_set(tmp_path)


def test_image_files_are_relative_sorted_and_not_hidden(tmp_path):
    pictures(tmp_path, "b.png", "a/c.jpg", ".hidden/d.png")
    (tmp_path / "notes.txt").write_text("")
    assert labels.image_files(tmp_path) == ["a/c.jpg", "b.png"]


def test_prompts_come_from_the_manifest(tmp_path):
    assert labels.prompts_of(tmp_path) == {}
    (tmp_path / "manifest.csv").write_text('file,prompt,seed\na.png,"a person, sitting",0\n')
    assert labels.prompts_of(tmp_path) == {"a.png": "a person, sitting"}


def test_consensus_adjudication_and_unresolved():
    mine = [
        Label("same", "male", "ada"),
        Label("same", "male", "bo"),
        Label("open", "male", "ada"),
        Label("open", "others", "bo"),
        Label("settled", "male", "ada"),
        Label("settled", "low_quality", "bo"),
        Label("settled", "male", labels.ADJUDICATED),
    ]
    assert labels.agreed(mine) == {"open": "unsettled", "same": "male", "settled": "male"}
    assert set(labels.disagreements(mine)) == {"open", "settled"}
    assert set(labels.open_disagreements(mine)) == {"open"}


def test_a_set_has_one_label_per_image_and_a_fingerprint(tmp_path):
    pictures(tmp_path, "1.png", "2.png")
    mine = [
        Label("1.png", "male", "ada", prompt="a person", model="sdxl"),
        Label("1.png", "male", "bo"),
        Label("2.png", "low_quality", "ada", "no face"),
    ]
    labels.write_labels(tmp_path, mine)
    result = labels.load_labelled_set(tmp_path)
    first, second = result
    assert (first.label, first.clear, first.prompt, first.model) == (
        "male", True, "a person", "sdxl",
    )  # fmt: skip
    assert (second.label, second.clear, second.reason) == ("low_quality", False, "no face")
    before = result.fingerprint
    labels.record(tmp_path, Label("2.png", "female", "ada"))
    assert labels.load_labelled_set(tmp_path).fingerprint != before


def test_a_set_without_labels_or_with_absent_images(tmp_path):
    with pytest.raises(ConfigurationError, match="t2i label page"):
        labels.load_labelled_set(tmp_path)
    labels.write_labels(tmp_path, [Label("gone.png", "male", "ada")])
    with pytest.raises(FileFormatError, match=r"1 of 1 labelled images are not in .*gone\.png"):
        labels.load_labelled_set(tmp_path)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "a/../../secret.png"])
def test_a_label_names_a_file_below_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="must be a path below the folder"):
        Label(name, "male", "ada")
    (tmp_path / "labels.csv").write_text(f"file,label,annotator\n{name},male,ada\n")
    with pytest.raises(FileFormatError, match="line 2: file must be a path below"):
        labels.read_labels(tmp_path)


def test_labelled_images_behind_a_link_out_are_refused(tmp_path):
    folder = tmp_path / "in"
    pictures(folder, "a.png")
    pictures(tmp_path, "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    labels.write_labels(folder, [Label(n, "male", "ada") for n in ("a.png", "link.png")])
    with pytest.raises(FileFormatError, match=r"1 of 2 labelled images lie outside of .*link\.png"):
        labels.load_labelled_set(folder)
