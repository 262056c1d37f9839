"""``t2i label studio``: what it writes is what Label Studio takes, and is read back."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.files import write_whole
from pytest_t2i.labels import Label
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import Counts, PromptRecord, RunRecord


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "set"
    place.mkdir()
    for name in ("a b.png", "c&d.png"):
        Image.new("RGB", (4, 4)).save(place / name)
    return place


def test_a_folder_with_its_labels_comes_back_as_it_was(folder, tmp_path, capsys):
    labels.choose_vocabulary(folder, labels.named("East Asian,White"))
    said = [Label("a b.png", "East Asian", "ada"), Label("a b.png", "White", "bo"),
            Label("c&d.png", "low_quality", "ada")]  # fmt: skip
    labels.write_labels(folder, said)
    out = tmp_path / "out"
    assert main(["label", "studio", str(folder), "--annotations", "--output", str(out)]) == 0
    assert f"serve {folder} as local files" in " ".join(capsys.readouterr().out.split())
    (folder / "export.json").write_bytes((out / "tasks.json").read_bytes())
    assert labels.read_labels(folder / "export.json") == said
    assert len(labels.load_labelled_set(folder / "export.json")) == 2
    choices = ET.fromstring((out / "interface.xml").read_text()).findall("./Choices/Choice")
    assert [choice.get("value") for choice in choices] == [
        "East Asian", "White", "low_quality", "others",
    ]  # fmt: skip
    assert len({choice.get("hotkey") for choice in choices}) == 4


def test_tasks_are_blind(folder, tmp_path):
    labels.write_labels(folder, [Label("a b.png", "male", "ada")])
    (folder / "manifest.csv").write_text("file,prompt\na b.png,a photo of a nurse\n")
    assert main(["label", "studio", str(folder), "--output", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out/tasks.json").read_text()
    assert not any(word in text for word in ("nurse", "male", "ada"))


def run_of(folder, words):
    images = tuple(
        ImageRecord(k, str(folder / name), {"colour": Detection(word, scores={word: 0.9})})
        for k, (name, word) in enumerate(words.items())
    )
    images += (
        ImageRecord(8, str(folder / "a b.png"), {"colour": Detection(None, Undetected.NO_FACE)}),
        ImageRecord(9, None, {"colour": Detection(None, Undetected.REFUSED)}),
    )
    counts = {"colour": Counts({}, {})}
    prompt = PromptRecord("p-nurse", "a nurse", "p", "nurse", "neutral", counts, None, images)
    return RunRecord("2026-11-21T10:00:00+00:00", 1.0, "mine", {}, {}, {}, prompts=(prompt,))


def export(run, tmp_path, *more):
    file = tmp_path / "run.json"
    run.write(file)
    return main(["label", "studio", str(file), "--output", str(tmp_path / "out"), *more])


@pytest.mark.parametrize("option", ["--predictions", "--store=elsewhere"])
def test_options_of_a_run_are_refused_for_a_folder(folder, capsys, option):
    assert main(["label", "studio", str(folder), option]) == 2
    name = option.partition("=")[0]
    assert f"{name} needs a run: expected a run.json, got a folder" in capsys.readouterr().err


def test_labels_of_people_are_refused_for_a_run(folder, tmp_path, capsys):
    assert export(run_of(folder, {"a b.png": "male"}), tmp_path, "--annotations") == 2
    assert "--annotations needs a folder of labelled pictures" in capsys.readouterr().err


def test_a_run_has_what_its_detectors_said_as_predictions(folder, tmp_path):
    run = run_of(folder, {"a b.png": "male", "c&d.png": "female"})
    assert export(run, tmp_path, "--predictions") == 0
    given = json.loads((tmp_path / "out/tasks.json").read_text())
    assert [task["data"]["image"].partition("?d=")[2] for task in given] == [
        "a%20b.png", "c%26d.png", "a%20b.png",
    ]  # fmt: skip
    (prediction,) = given[1]["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("colour", 0.9)
    assert prediction["result"][0]["value"] == {"choices": ["female"]}
    assert "predictions" not in given[2]
    assert export(run, tmp_path) == 0
    assert "predictions" not in (tmp_path / "out/tasks.json").read_text()
    # A person answers in Label Studio; its export is read back.
    given[0]["annotations"] = [{"completed_by": 1, "result": given[0]["predictions"][0]["result"]}]
    write_whole(folder / "export.json", json.dumps(given[:1]).encode())
    assert labels.read_labels(folder / "export.json") == [Label("a b.png", "male", "1")]


def test_what_does_not_fit_is_told(folder, tmp_path, capsys):
    assert main(["label", "studio", str(folder), "--predictions"]) == 2
    assert "expected a run.json, got a folder" in capsys.readouterr().err
    assert export(run_of(folder, {"a b.png": "old"}), tmp_path, "--predictions") == 2
    assert "the predicted labels old are none of male, female" in capsys.readouterr().err
    for file in folder.iterdir():
        file.unlink()
    assert main(["label", "studio", str(folder)]) == 2
    assert "no image that is still there" in capsys.readouterr().err
