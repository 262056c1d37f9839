"""t2i report: a run.json rendered again, its pictures wherever the store lies by now."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import Counts, PromptRecord, RunRecord

WORK = {"planned": 2, "made": 2, "refused": 0, "seconds": 1.0, "notes": []}


@pytest.fixture
def project(tmp_path):
    """A project with a store of two pictures and the run.json that names them."""
    folder = tmp_path / "project"
    images = []
    for key in ("ab12", "cd34"):
        file = folder / ".t2i/images" / key[:2] / f"{key}.png"
        file.parent.mkdir(parents=True)
        Image.new("RGB", (8, 8), (40, 60, 200)).save(file)
        images.append(ImageRecord(int(key, 16), str(file), {"colour": Detection("male")}))
    images.append(ImageRecord(3, None, {"colour": Detection("male")}))
    prompt = PromptRecord(
        "word-nurse", "a nurse", "word", "nurse", "neutral", {"colour": Counts({"male": 3}, {})},
        None, tuple(images),
    )  # fmt: skip
    settings = {"store": str(folder / ".t2i"), "report": str(folder / "reports/t2i")}
    record = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", settings, {}, WORK, prompts=(prompt,))
    (folder / "reports/t2i").mkdir(parents=True)
    record.write(folder / "reports/t2i/run.json")
    return folder


def shown(folder):
    return (folder / "index.html").read_text().split('id="images"')[1].count("<img ")


def test_a_run_is_rendered_again(project, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["report", str(project / "reports/t2i/run.json"), str(out)]) == 0
    assert shown(out) == 2
    told = capsys.readouterr()
    assert told.out == f"{out / 'index.html'}\n"
    assert told.err == ""


def test_pictures_are_found_in_a_store_that_was_moved(project, tmp_path, capsys):
    shutil.move(project / ".t2i", tmp_path / "kept")
    source, out = str(project / "reports/t2i/run.json"), tmp_path / "out"
    main(["report", source, str(out)])
    assert shown(out) == 0
    told = capsys.readouterr().err
    assert "2 of 2 pictures are not there any more, such as" in told
    assert "name it with --store DIR" in told
    assert main(["report", source, str(out), "--store", str(tmp_path / "kept")]) == 0
    assert shown(out) == 2
    assert capsys.readouterr().err == ""
    files = [image.file for image in read_run(out / "run.json").prompts[0].images]
    assert files == [
        str(tmp_path / "kept/images/ab/ab12.png"), str(tmp_path / "kept/images/cd/cd34.png"), None,
    ]  # fmt: skip


@pytest.mark.parametrize("place", ["reports/t2i", "reports", "again"])
def test_a_report_is_rendered_into_its_project_from_anywhere(
    project, tmp_path, monkeypatch, capsys, place
):
    """It named pictures by their files alone, of which no folder was known then."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for _ in range(2):
        assert main(["report", str(project / "reports/t2i/run.json"), str(project / place)]) == 0
    assert shown(project / place) == 2
    assert capsys.readouterr().err == ""
    files = [image.file for image in read_run(project / place / "run.json").prompts[0].images]
    assert files[0] == str(project / ".t2i/images/ab/ab12.png")


def test_a_project_that_was_moved_keeps_its_pictures(project, tmp_path):
    moved = tmp_path / "moved"
    shutil.move(project, moved)
    out = tmp_path / "out"
    main(["report", str(moved / "reports/t2i/run.json"), str(out)])
    assert shown(out) == 2


@pytest.mark.parametrize("name", ["store", "report"])
def test_a_run_that_names_no_store_is_rendered_with_what_is_there(project, tmp_path, name):
    source = project / "reports/t2i/run.json"
    record = read_run(source)
    replace(record, settings={**record.settings, name: ""}).write(source)
    out = tmp_path / "out"
    told = ["--store", str(project / ".t2i")] if name == "store" else []
    assert main(["report", str(source), str(out), *told]) == 0
    assert shown(out) == 2


def test_a_run_without_store_and_pictures_is_rendered(project, tmp_path):
    source = project / "reports/t2i/run.json"
    record = read_run(source)
    replace(record, settings={"store": "", "report": "r"}, prompts=()).write(source)
    assert main(["report", str(source), str(tmp_path / "out")]) == 0


def test_a_picture_that_is_still_there_stays(project, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(project / ".t2i", other)
    out = tmp_path / "out"
    main(["report", str(project / "reports/t2i/run.json"), str(out), "--store", str(other)])
    first = read_run(out / "run.json").prompts[0].images[0].file
    assert Path(first).is_relative_to(project)


def test_what_is_no_store_is_refused(project, tmp_path, capsys):
    source = str(project / "reports/t2i/run.json")
    assert main(["report", source, str(tmp_path / "out"), "--store", str(tmp_path)]) == 2
    assert f"--store: expected a store, {tmp_path} has no folder images" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
