"""A run.json names pictures of its own store alone, whichever command reads it."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Mask
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.picture_paths import (
    as_kept,
    check_labelled_pictures,
    check_pictures,
    without_machine,
)
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import (
    AuditRecord,
    BaselineRecord,
    BeforeRecord,
    Counts,
    PromptRecord,
    RunRecord,
)
from pytest_t2i.sections import Overlay, Overlays, Section


def record(*files):
    images = tuple(ImageRecord(k, file and str(file), {}) for k, file in enumerate(files))
    prompt = PromptRecord("nurse", "a nurse", "profession", "nurse", "neutral", {}, None, images)
    return RunRecord("2026-11-21T10:00:00+00:00", 1.0, "mine", {}, {}, {}, prompts=(prompt,))


@pytest.fixture
def run(tmp_path):
    """A project with a store and a report, and a file beside it that is no one's business."""
    for name in ("project/.t2i/images/a.png", "project/reports/run.json", "secret.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path / "project/reports/run.json"


def test_images_of_the_store_above_the_run_are_copied(run, monkeypatch):
    image = run.parents[1] / ".t2i/images/a.png"
    check_pictures(record(image, None, "gone.png"), run)
    monkeypatch.chdir(run.parents[1])
    check_pictures(record(".t2i/images/a.png"), run.relative_to(run.parents[1]))
    (run.parent / "beside.png").write_text("x")
    check_pictures(record(run.parent / "beside.png"), run)


WAYS_OUT = ("../../secret.png", "link.png", "out/secret.png")
ELSEWHERE = ("secret.png", *(f"project/.t2i/{way}" for way in WAYS_OUT))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_files_elsewhere_are_refused_unless_their_store_is_named(run, name):
    top = run.parents[2]
    (top / "project/.t2i/link.png").symlink_to(top / "secret.png")
    (top / "project/.t2i/out").symlink_to(top)
    named = record(top / "project/.t2i/images/a.png", top / name)
    with pytest.raises(ConfigurationError, match=r"names 1 of 2 files outside .*--store DIR"):
        check_pictures(named, run)
    check_pictures(named, run, [top])
    with pytest.raises(ConfigurationError, match="names 1 of 2 files"):
        check_pictures(named, run, [run.parent])


def test_pictures_of_a_baseline_and_of_groups_are_looked_at_too(run):
    secret, nowhere = str(run.parents[2] / "secret.png"), Mask(1, 1, (1,))
    then = BeforeRecord(0, secret, "male")
    baseline = BaselineRecord("b.json", "old", "f", "", 1, 0, False, pictures={"nurse": (then,)})
    shown = Overlays((Overlay(secret, nowhere, nowhere, ("hidden",), "hidden"),))
    found = AuditRecord(blocks=(Section("Groups", (shown,)),))
    for more in ({"baseline": baseline}, {"audits": {"dependencies": found}}):
        with pytest.raises(ConfigurationError, match="names 1 of 1 files"):
            check_pictures(replace(record(), **more), run)


def test_names_that_no_file_can_have_are_not_there(run):
    check_pictures(record("x" * 5000, "a\0b"), run)


def test_labelled_pictures_lie_in_the_project(run):
    top = run.parents[2]

    def named(name):
        return [str(top / name)]

    (top / "project/labelled.png").write_text("x")
    check_labelled_pictures(named("project/labelled.png"), run)
    with pytest.raises(ConfigurationError, match=r"secret\.png: name the store"):
        check_labelled_pictures(named("secret.png"), run)
    check_labelled_pictures(named("secret.png"), run, [top])


def written(run, *files):
    """A real run.json with these pictures of one prompt."""
    images = tuple(
        ImageRecord(k, str(file), {"d": Detection("male")}) for k, file in enumerate(files)
    )
    counts = {"d": Counts({"male": len(images)}, {})}
    prompt = PromptRecord("word-a", "a", "word", "a", "neutral", counts, None, images)
    work = {"planned": 1, "made": 1, "refused": 0, "seconds": 1.0, "notes": []}
    made = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, work, prompts=(prompt,))
    made.write(run)


COMMANDS = {
    "report": ("report", "{run}", "{out}"),
    "sample": ("label", "export", "{run}", "{out}"),
    "compare": ("compare", "{run}", "{run}", "--report", "{out}"),
    "Label Studio": ("label", "studio", "{run}", "--output", "{out}"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_leaves_the_store(run, command, capsys):
    top = run.parents[2]
    own, private = top / "project/.t2i/images/a.png", top / "secret.png"
    second = own.with_name("b.png")
    for file in (own, second, private):
        Image.new("RGB", (8, 8), (255, 0, 0)).save(file)
    words = [word.format(run=run, out=top / "out") for word in COMMANDS[command]]
    written(run, own, second)
    assert main(words) == 0
    written(run, own, second, private)
    words = [word.format(run=run, out=top / "second") for word in COMMANDS[command]]
    assert main(words) == 2
    assert "names 1 of 3 files outside of its store" in capsys.readouterr().err
    assert not (top / "second").exists()
    (top / "images").mkdir()
    assert main([*words, "--store", str(top)]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_pipes_are_not_waited_for(run, command):
    """Neither one elsewhere nor one in the store itself."""
    top = run.parents[2]
    own, pipe = top / "project/.t2i/images/a.png", top / "project/.t2i/images/pipe.png"
    Image.new("RGB", (8, 8)).save(own)
    os.mkfifo(pipe)
    written(run, own, pipe)
    assert main([word.format(run=run, out=top / "out") for word in COMMANDS[command]]) == 2


def test_a_name_longer_than_any_file_is_a_picture_that_is_gone(run, capsys):
    written(run, "a" * 5000)
    plain = json.loads(run.read_text())
    plain["settings"] = {"store": str(run.parent), "report": str(run.parent)}
    run.write_text(json.dumps(plain))
    assert main(["report", str(run), str(run.parent / "out")]) == 0
    assert "1 of 1 pictures are not there any more" in capsys.readouterr().err


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
def full_record():
    """A run of one prompt and two pictures."""
    images = tuple(ImageRecord(seed, "", {"colour": Detection("male")}) for seed in range(2))
    counts = {"colour": Counts({"male": 2}, {})}
    prompt = PromptRecord("word-nurse", "a nurse", "word", "nurse", "neutral", counts, None, images)
    return RunRecord("2026-11-21T10:00:00+00:00", 1.0, "m", {}, {}, {}, prompts=(prompt,))


def placed_in(full_record, home):
    """The record as a run in that folder makes it: every path from the root."""
    pictures = tuple(
        replace(
            prompt,
            images=tuple(
                replace(image, file=f"{home}/.t2i/images/ab/ab{k}.png")
                for k, image in enumerate(prompt.images)
            ),
        )
        for prompt in full_record.prompts
    )
    settings = {
        **full_record.settings,
        "store": f"{home}/.t2i",
        "report": f"{home}/reports/t2i",
    }
    return replace(full_record, prompts=pictures, settings=settings)


def files(full_record):
    return [image.file for prompt in full_record.prompts for image in prompt.images if image.file]


def test_run_json_names_pictures_from_the_project(full_record, tmp_path):
    kept = as_kept(placed_in(full_record, tmp_path), tmp_path)
    assert str(tmp_path) not in kept.to_json()
    assert kept.settings["store"] == ".t2i"
    assert files(kept)[0] == ".t2i/images/ab/ab0.png"


def test_run_json_names_pictures_of_a_store_elsewhere_from_there(full_record, tmp_path):
    kept = as_kept(placed_in(full_record, tmp_path / "else where"), tmp_path / "here")
    assert files(kept)[0] == "images/ab/ab0.png"
    assert str(tmp_path) not in kept.to_json()
    other = replace(full_record.prompts[0].images[0], file="/data/given pictures/nurse 1.png")
    prompt = replace(full_record.prompts[0], images=(other,))
    assert files(as_kept(replace(full_record, prompts=(prompt,)), tmp_path)) == ["nurse 1.png"]


def test_prompts_that_look_like_paths_stay(full_record, tmp_path):
    text = "/imagine a nurse/doctor"
    prompt = replace(full_record.prompts[0], text=text)
    assert as_kept(replace(full_record, prompts=(prompt,)), tmp_path).prompts[0].text == text


@pytest.mark.parametrize("place", ["reports/t2i", "reports/t2i/latest", "elsewhere"])
def test_a_reader_finds_the_pictures_wherever_the_project_is_by_now(full_record, tmp_path, place):
    made, moved = tmp_path / "made", tmp_path / "moved"
    picture = moved / ".t2i/images/ab/ab0.png"
    for file in (picture, moved / place / "run.json"):
        file.parent.mkdir(parents=True)
    picture.touch()
    as_kept(placed_in(full_record, made), made).write(moved / place / "run.json")
    read = files(read_run(moved / place / "run.json"))
    # One that is gone stays as it is named.
    assert read[:2] == [str(picture), ".t2i/images/ab/ab1.png"]


def test_a_reader_finds_the_pictures_from_the_project_too(full_record, tmp_path, monkeypatch):
    project, other = tmp_path / "project", tmp_path / "other"
    picture = project / ".t2i/images/ab/ab0.png"
    picture.parent.mkdir(parents=True)
    picture.touch()
    other.mkdir()
    as_kept(placed_in(full_record, project), project).write(other / "run.json")
    monkeypatch.chdir(project)
    assert files(read_run(other / "run.json"))[0] == str(picture)


def test_run_json_of_older_versions_keeps_its_paths(full_record, tmp_path):
    placed = placed_in(full_record, "/home/somebody/audit")
    placed.write(tmp_path / "run.json")
    assert files(read_run(tmp_path / "run.json")) == files(placed)
