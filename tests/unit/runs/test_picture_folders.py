"""A run.json names pictures of its own store alone, whichever command reads it."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from PIL import Image

from pytest_t2i.audits.dependencies.record import DependenciesRecord, ExampleRecord, GroupRecord
from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Mask
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.picture_folders import check_labelled_pictures, check_pictures
from pytest_t2i.runs.record import (
    AuditRecord,
    BaselineRecord,
    BeforeRecord,
    Counts,
    ImageRecord,
    PromptRecord,
    RunRecord,
)


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
    example = ExampleRecord("tie", "a tie", 0, secret, nowhere, "tie", nowhere, 1.0)
    group = GroupRecord("hidden", None, 0, {}, (), (), {}, example)
    found = DependenciesRecord("yolo", 1, 1, 0, 1, (group,))
    for more in ({"baseline": baseline}, {"audits": {"dependencies": AuditRecord(2, found)}}):
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
    run.write_text(made.to_json())


COMMANDS = {
    "report": ("report", "{run}", "{out}"),
    "sample": ("sample", "{run}", "{out}"),
    "compare": ("compare", "{run}", "{run}", "--report", "{out}"),
    "Label Studio": ("label-studio", "{run}", "--output", "{out}"),
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
