"""What is handed on names no place of the machine it was made on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_t2i.data import Detection
from pytest_t2i.runs.machine_paths import as_kept, without_machine
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.runs.record import Counts, ImageRecord, PromptRecord, RunRecord

HOME = "/home/somebody/audit"


@pytest.mark.parametrize(
    ("told", "short"),
    [
        (f"{HOME}/fairness/limits.toml", "fairness/limits.toml"),
        (HOME, "."),
        (f"{HOME}-2/weights", "weights"),
        (f"pytest {HOME}/suites --t2i-model /data/sdxl", "pytest suites --t2i-model sdxl"),
        ("C:\\Users\\me\\sdxl", "sdxl"),
        ("/opt/venv/lib/python3.12/site-packages/people/weights", "people/weights"),
        ("openai:gpt-image-1@https://host/v1/images", "openai:gpt-image-1@https://host/v1/images"),
        ("and/or, 3/4 and ./model", "and/or, 3/4 and ./model"),
        (f"images:{HOME}/some pictures", "images:some pictures"),
        ("images:/data/pictures", "images:pictures"),
        ("../labels", "../labels"),
    ],
)
def test_paths_are_named_from_the_project_or_by_their_name(told, short):
    assert without_machine(told, HOME) == short


@pytest.fixture
def record():
    """A run of one prompt and two pictures."""
    images = tuple(ImageRecord(seed, "", {"colour": Detection("male")}) for seed in range(2))
    counts = {"colour": Counts({"male": 2}, {})}
    prompt = PromptRecord("word-nurse", "a nurse", "word", "nurse", "neutral", counts, None, images)
    return RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, prompts=(prompt,))


def placed_in(record, home):
    """The record as a run in that folder makes it: every path from the root."""
    pictures = tuple(
        replace(
            prompt,
            images=tuple(
                replace(image, file=f"{home}/.t2i/images/ab/ab{k}.png")
                for k, image in enumerate(prompt.images)
            ),
        )
        for prompt in record.prompts
    )
    settings = {**record.settings, "store": f"{home}/.t2i", "report": f"{home}/reports/t2i"}
    return replace(record, prompts=pictures, settings=settings)


def files(record):
    return [image.file for prompt in record.prompts for image in prompt.images if image.file]


def test_run_json_names_pictures_from_the_project(record, tmp_path):
    kept = as_kept(placed_in(record, tmp_path), tmp_path)
    assert str(tmp_path) not in kept.to_json()
    assert kept.settings["store"] == ".t2i"
    assert files(kept)[0] == ".t2i/images/ab/ab0.png"


def test_run_json_names_pictures_of_a_store_elsewhere_from_there(record, tmp_path):
    kept = as_kept(placed_in(record, tmp_path / "else where"), tmp_path / "here")
    assert files(kept)[0] == "images/ab/ab0.png"
    assert str(tmp_path) not in kept.to_json()
    other = replace(record.prompts[0].images[0], file="/data/given pictures/nurse 1.png")
    prompt = replace(record.prompts[0], images=(other,))
    assert files(as_kept(replace(record, prompts=(prompt,)), tmp_path)) == ["nurse 1.png"]


def test_prompts_that_look_like_paths_stay(record, tmp_path):
    text = "/imagine a nurse/doctor"
    prompt = replace(record.prompts[0], text=text)
    assert as_kept(replace(record, prompts=(prompt,)), tmp_path).prompts[0].text == text


@pytest.mark.parametrize("place", ["reports/t2i", "reports/t2i/latest", "elsewhere"])
def test_a_reader_finds_the_pictures_wherever_the_project_is_by_now(record, tmp_path, place):
    made, moved = tmp_path / "made", tmp_path / "moved"
    text = as_kept(placed_in(record, made), made).to_json()
    picture = moved / ".t2i/images/ab/ab0.png"
    for file in (picture, moved / place / "run.json"):
        file.parent.mkdir(parents=True)
    picture.touch()
    (moved / place / "run.json").write_text(text)
    read = files(read_run(moved / place / "run.json"))
    # One that is gone stays as it is named.
    assert read[:2] == [str(picture), ".t2i/images/ab/ab1.png"]


def test_a_reader_finds_the_pictures_from_the_project_too(record, tmp_path, monkeypatch):
    project, other = tmp_path / "project", tmp_path / "other"
    picture = project / ".t2i/images/ab/ab0.png"
    picture.parent.mkdir(parents=True)
    picture.touch()
    other.mkdir()
    (other / "run.json").write_text(as_kept(placed_in(record, project), project).to_json())
    monkeypatch.chdir(project)
    assert files(read_run(other / "run.json"))[0] == str(picture)


def test_run_json_of_older_versions_keeps_its_paths(record, tmp_path):
    placed = placed_in(record, "/home/somebody/audit")
    (tmp_path / "run.json").write_text(placed.to_json())
    assert files(read_run(tmp_path / "run.json")) == files(placed)
