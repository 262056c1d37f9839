"""What a sitting works on: order, blindness, what is kept."""

from __future__ import annotations

import pytest
from pytest_t2i import T2IError, labels
from pytest_t2i.errors import FileFormatError
from pytest_t2i.labels import ADJUDICATED, Label

from pytest_t2i_labelling.desk import Annotation, Review


def test_each_annotator_has_an_order_of_their_own_that_lasts(folder):
    orders = {name: Annotation(folder, name).files for name in ("ada", "bo", "cy", "di")}
    assert len(set(orders.values())) > 1
    assert all(sorted(order) == labels.image_files(folder) for order in orders.values())
    assert Annotation(folder, "ada").files == orders["ada"]


def test_a_new_picture_leaves_the_order_of_the_others(folder):
    before = Annotation(folder, "ada").files
    (folder / "new.png").write_bytes((folder / "a.png").read_bytes())
    after = Annotation(folder, "ada").files
    assert tuple(file for file in after if file != "new.png") == before


def test_a_label_is_kept_with_prompt_and_model(folder):
    desk = Annotation(folder, " ada ", model="sdxl")
    desk.put(desk.files.index("a.png"), "others", "  two\n words ")
    (kept,) = labels.read_labels(folder)
    assert kept == Label("a.png", "others", "ada", "two words", "a photo of a nurse", "sdxl")
    assert Annotation(folder, "ada").entry(desk.files.index("a.png"))["label"] == "others"


def test_a_later_sitting_without_the_model_keeps_it(folder):
    first = Annotation(folder, "ada", model="sdxl")
    first.put(0, "male", "")
    Annotation(folder, "ada").put(0, "female", "")
    assert labels.read_labels(folder)[0].model == "sdxl"


def test_an_annotator_sees_nothing_of_others(folder):
    for name in ("bo", ADJUDICATED):
        labels.record(folder, Label("a.png", "female", name, "clearly"))
    desk = Annotation(folder, "ada")
    assert all(set(entry) == {"label", "reason", "question"} for entry in desk.entries())
    assert not any(entry["label"] or entry["reason"] for entry in desk.entries())


def test_taking_back_touches_only_ones_own(folder):
    labels.record(folder, Label("a.png", "female", "bo"))
    desk = Annotation(folder, "ada")
    at = desk.files.index("a.png")
    desk.put(at, "male", "")
    desk.take_back(at)
    assert [read_label.annotator for read_label in labels.read_labels(folder)] == ["bo"]


@pytest.mark.parametrize(
    ("label", "reason", "problem"),
    [("others", " ", "reason"), ("male", "x" * 301, "300"), ("man", "", "label")],
)
def test_what_cannot_be_kept_is_said(folder, label, reason, problem):
    with pytest.raises(ValueError, match=problem):
        Annotation(folder, "ada").put(0, label, reason)
    assert labels.read_labels(folder) == []


@pytest.mark.parametrize("name", ["", "  ", "adjudicated", "a\nb", "x" * 61])
def test_a_name_that_cannot_be_used(folder, name):
    with pytest.raises(T2IError, match="--annotator"):
        Annotation(folder, name)


def test_a_folder_without_pictures(tmp_path):
    with pytest.raises(T2IError, match="no picture"):
        Annotation(tmp_path, "ada")


@pytest.fixture
def disputed(folder):
    said = {"ada": {"a.png": "male", "b.jpg": "male"}, "bo": {"a.png": "female", "b.jpg": "male"}}
    for name, words in said.items():
        for file, word in words.items():
            labels.record(folder, Label(file, word, name, "", "a photo of a nurse"))
    return folder


def test_review_shows_what_people_disagree_on(disputed):
    desk = Review(disputed)
    assert desk.files == ("a.png",)
    (entry,) = desk.entries()
    assert {item["who"]: item["label"] for item in entry["said"]} == {"ada": "male", "bo": "female"}
    assert entry["prompt"] == "a photo of a nurse"


def test_settling_is_kept_beside_the_originals(disputed):
    before = labels.read_labels(disputed)
    desk = Review(disputed)
    desk.put(0, "low_quality", "too dark")
    after = labels.read_labels(disputed)
    assert [entry for entry in after if entry.annotator != ADJUDICATED] == before
    assert desk.entry(0)["label"] == "low_quality"
    assert labels.agreed(after)["a.png"] == "low_quality"
    # A settled picture stays in the review, to be looked at again.
    assert Review(disputed).files == ("a.png",)
    desk.take_back(0)
    assert labels.read_labels(disputed) == before


def test_review_of_nothing(folder):
    with pytest.raises(T2IError, match="nothing to review"):
        Review(folder)


def test_what_is_asked_of_a_picture_is_shown(folder):
    file = Annotation(folder, "ada").files[1]
    (folder / "manifest.csv").write_text(f"file,prompt,question\n{file},a nurse,Is it a hat?\n")
    assert [entry["question"] for entry in Annotation(folder, "ada").entries()][1] == "Is it a hat?"
    assert Annotation(folder, "ada").entry(0)["question"] == ""
    (folder / "manifest.csv").write_text("prompt,question\na,b\n")
    with pytest.raises(FileFormatError, match="file"):
        Annotation(folder, "ada")
