"""The images of a run stand beside its run.json, a line each, and are read when asked for."""

import json
import os
from dataclasses import replace

import pytest
from filled import filled_run

from pytest_t2i.data import Detection, Undetected
from pytest_t2i.errors import FileFormatError
from pytest_t2i.runs.record.images import MOST_LINE, ImageRecord, Images, images_beside, images_file
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import PromptRecord, RunRecord

NURSE = (
    ImageRecord(
        1, "a.png", {"colour": Detection("male", scores={"male": 0.75})}, "a smiling nurse"
    ),
    ImageRecord(2, None, {"colour": Detection(None, Undetected.REFUSED)}),
)
PILOT = (ImageRecord(3, "\u2028.png", {}),)


def prompt(name, images):
    return PromptRecord(name, name, "job", name, "neutral", {}, None, images)


@pytest.fixture
def run(tmp_path):
    """A run.json of three prompts, of which one has no image."""
    prompts = (prompt("nurse", NURSE), prompt("poet", ()), prompt("pilot", PILOT))
    replace(filled_run(), prompts=prompts).write(tmp_path / "run.json")
    return tmp_path / "run.json"


def images_of(run):
    return [list(prompt.images) for prompt in read_run(run).prompts]


def names_of(run):
    return [[image.seed for image in images] for images in images_of(run)]


def lines_of(run):
    return images_file(run).read_text(encoding="utf-8").split("\n")[:-1]


def test_what_was_written_is_read(run):
    first, none, last = images_of(run)
    assert first[0].detections == NURSE[0].detections
    assert first[1:] == list(NURSE[1:])
    assert (none, [image.seed for image in last]) == ([], [3])
    assert [each["images"] for each in json.loads(run.read_text())["prompts"]] == [2, 0, 1]
    assert [json.loads(line)["prompt"] for line in lines_of(run)] == ["nurse", "nurse", "pilot"]


def test_prompts_are_read_in_any_order_and_again(run):
    prompts = read_run(run).prompts
    assert [image.seed for image in prompts[2].images] == [3]
    assert prompts[0].images[1] == NURSE[1]
    assert [image.seed for image in prompts[0].images[:1]] == [1]
    assert prompts[0].images == tuple(prompts[0].images) != prompts[2].images


def test_pandas_opens_the_file(run):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_json(images_file(run), lines=True)
    assert frame["seed"].tolist() == [1, 2, 3]


def test_a_renamed_pair_stays_a_pair(run):
    for file in (images_file(run), run):
        file.rename(file.with_name(file.name.replace("run", "before", 1)))
    assert names_of(run.with_name("before.json")) == [[1, 2], [], [3]]


def test_numbers_need_no_images(run):
    images_file(run).unlink()
    record = read_run(run)
    assert [len(prompt.images) for prompt in record.prompts] == [2, 0, 1]
    with pytest.raises(FileFormatError, match=r"no such file of images\. .*copy"):
        list(record.prompts[0].images)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda lines: lines[:2], "expected 3 lines .*got fewer lines"),
        (lambda lines: [*lines, lines[0]], "expected 3 lines .*got more lines"),
        (lambda lines: [lines[2], *lines[:2]], "line 1: expected an image of 'nurse', got one of"),
        (lambda lines: [lines[0], "{", lines[2]], "line 2 column 2: is not valid JSON"),
        (lambda lines: [lines[0], "[]", lines[2]], "line 2.*expected"),
        (lambda lines: [lines[0], "{}", lines[2]], "line 2.*seed"),
        (lambda lines: [lines[0].replace("1", '"one"', 1), *lines[1:]], "line 1.*whole number"),
        (lambda lines: [lines[0].replace("0.75", "NaN"), *lines[1:]], "is not valid JSON"),
        (lambda lines: [f"{lines[0]}{' ' * MOST_LINE}", *lines[1:]], "longer ones"),
    ],
)
def test_another_file_is_refused(run, changed, told):
    images_file(run).write_text("".join(f"{line}\n" for line in changed(lines_of(run))))
    with pytest.raises(FileFormatError, match=told):
        images_of(run)


def test_other_bytes_are_refused(run):
    content = images_file(run).read_bytes()
    images_file(run).write_bytes(content.replace(b"smiling", b"\xff\xfe"))
    with pytest.raises(FileFormatError, match="line 1: is not UTF-8"):
        images_of(run)


def test_a_pipe_is_refused_and_not_waited_for(run):
    images_file(run).unlink()
    os.mkfifo(images_file(run))
    with pytest.raises(FileFormatError, match="not a regular file"):
        images_of(run)


def test_a_run_is_written_where_it_was_read_from(run):
    record = read_run(run)
    before = [image.file for image in record.prompts[0].images]
    record.with_files(lambda file: f"in/a/longer/folder/{file}").write(run)
    assert images_of(run)[0][0].file == "in/a/longer/folder/a.png"
    assert [image.file for image in record.prompts[0].images] == before == ["a.png", None]


def test_images_are_made_when_they_are_asked_for():
    asked = []

    def read():
        asked.append(1)
        return iter(NURSE)

    record = replace(filled_run(), prompts=(prompt("nurse", Images(2, read)),))
    renamed = record.with_files(lambda file: f"x/{file}").prompts[0].images
    assert (len(renamed), asked) == (2, [])
    assert [image.file for image in renamed] == ["x/a.png", None]
    assert asked == [1]


def test_a_run_of_no_prompts_has_an_empty_file(tmp_path):
    RunRecord("2026-11-21T10:00:00+00:00", 1.0, "mine", {}, {}, {}).write(tmp_path / "run.json")
    assert images_file(tmp_path / "run.json").read_bytes() == b""
    assert images_beside(tmp_path / "run.json", []) == []
