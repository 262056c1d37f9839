"""Files of labels are read by the companion that their ending names."""

from __future__ import annotations

import pytest
from distributions import installed, write_metadata
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.adapters import registry
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels import Label

READER = """
from pytest_t2i.labels import Label, Labels

def read(path, vocabulary):
    lines = path.read_text().split()
    label = vocabulary.clear[0]
    return Labels([Label(line, label, path.stem) for line in lines], [f"{len(lines)} lines read"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "lines.py").write_text(READER)
    groups = {"pytest_t2i.label_files": {"lines": "lines:read"}}
    write_metadata(tmp_path, "t2i-lines", "1.0", groups)
    yield from installed(tmp_path, monkeypatch)


def test_labels_are_read_by_whom_their_ending_names(folder, capsys):
    given = folder / "ada.Lines"
    given.write_text("a.png b/c.png")
    for name in ("a.png", "b/c.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(folder / name)
    label = labels.vocabulary_of(folder).clear[0]
    read = [Label("a.png", label, "ada"), Label("b/c.png", label, "ada")]
    assert labels.read_labels(given) == read
    found = labels.load_labelled_set(given)
    assert (found.folder, [image.label for image in found]) == (folder, [label, label])
    assert found.notes == ("2 lines read",)
    assert main(["label", "import", str(given), str(folder)]) == 0
    assert "2 lines read" in capsys.readouterr().out
    assert labels.read_labels(folder) == read
    assert main(["label", "agreement", str(given)]) == 0
    told = capsys.readouterr().out
    assert "2 lines read" in told
    assert "one annotator only (ada)" in told


def test_an_imported_file_has_the_labels_of_the_folder(folder):
    (folder / "tones").mkdir()
    (folder / "tones/labels.toml").write_text('[[label]]\nname = "light"\n[[label]]\nname = "dark"')
    (folder / "ada.lines").write_text("a.png")
    assert main(["label", "import", str(folder / "ada.lines"), str(folder / "tones")]) == 0
    assert labels.read_labels(folder / "tones") == [Label("a.png", "light", "ada")]


def test_a_folder_is_read_as_one_whatever_its_name_ends_with(folder):
    place = folder / "set.lines"
    place.mkdir()
    labels.write_labels(place, [Label("a.png", "female", "bo")])
    assert labels.read_labels(place) == [Label("a.png", "female", "bo")]


def test_a_file_that_nobody_reads_is_no_folder(folder):
    (folder / "labels.txt").write_text("a.png")
    with pytest.raises(ConfigurationError, match=r"labels\.txt is a file, not a folder"):
        labels.read_labels(folder / "labels.txt")


@pytest.mark.parametrize(
    "words",
    [
        ["label", "agreement", "{export}"],
        ["label", "import", "{export}", "{folder}"],
        ["detector", "check", "colour", "--labels", "{export}"],
    ],
)
def test_without_who_reads_a_file_of_labels_the_line_that_installs_it_is_told(
    tmp_path, monkeypatch, capsys, words
):
    known = registry._installed
    # Only readers are hidden: audits that are found here are remembered by the whole process.
    hidden = {"pytest_t2i.label_files"}
    monkeypatch.setattr(
        registry, "_installed", lambda group: {} if group in hidden else known(group)
    )
    export = tmp_path / "export.json"
    export.write_text("[]")
    assert main([word.format(export=export, folder=tmp_path) for word in words]) == 2
    assert capsys.readouterr().err == (
        f"ERROR: {export}: labels in a .json file are read by a companion that is not installed. "
        "Run: pip install pytest-t2i-labelling "
        "(in a clone: pip install ./plugins/pytest-t2i-labelling)\n"
    )
