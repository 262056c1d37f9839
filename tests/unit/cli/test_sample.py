"""``t2i label export``: what it copies, and what it does not although a run.json names it."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.cli.sample import choose
from pytest_t2i.data import Detection, Interval
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import PromptRecord, RunRecord


def record(*files, variant="neutral"):
    images = [
        SimpleNamespace(file=file and str(file), seed=k, revised_prompt=None)
        for k, file in enumerate(files)
    ]
    prompt = SimpleNamespace(text="a nurse", variant=variant, images=images)
    return SimpleNamespace(prompts=[prompt])


@pytest.fixture
def run(tmp_path):
    """A project with a store and a report, and a file beside it that is no one's business."""
    for name in ("project/.t2i/images/a.png", "project/reports/run.json", "secret.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path / "project/reports/run.json"


def test_names_that_no_file_can_have_are_not_there():
    assert choose(record("x" * 5000, "a\0b"), 3, 0) == []


def test_only_neutral_prompts_are_sampled(run):
    image = run.parents[1] / ".t2i/images/a.png"
    assert choose(record(image, image), 1, 0)[0][1:3] in {("a nurse", 0), ("a nurse", 1)}
    assert len(choose(record(image, image), 5, 0)) == 2
    assert choose(record(image, variant="feminine"), 5, 0) == []


def test_the_next_command_is_safe_to_copy(tmp_path, monkeypatch, capsys):
    (tmp_path / ".t2i").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / ".t2i/a.png")
    monkeypatch.chdir(tmp_path)
    picture = ImageRecord(7, ".t2i/a.png", {})
    score = Interval(0.5, 0.1, 0.9, 0.95, "clopper-pearson", 4)
    prompt = PromptRecord(
        "a", "a nurse", "profession", "nurse", "neutral", {}, score, images=(picture,)
    )
    hostile = RunRecord(
        created="2026-11-21T10:00:00+00:00",
        seconds=1,
        model="x; touch owned \x1b[2J",
        settings={"images": 1, "seed": 0, "store": ".t2i", "report": "r"},
        provenance={},
        work={"planned": 1, "made": 1},
        prompts=(prompt,),
    )
    hostile.write(tmp_path / "run.json")
    assert main(["label", "export", "run.json", "to label"]) == 0
    told = capsys.readouterr().out
    assert "t2i label page 'to label' --annotator NAME --model 'x; touch owned" in told
    assert "\x1b" not in told


@pytest.fixture
def run_of_two_prompts(tmp_path, monkeypatch):
    """The folder of a run of two prompts, 40 images each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".t2i").mkdir()
    prompts = []
    for text in ("a pilot", "a nurse"):
        images = []
        for seed in range(40):
            file = f".t2i/{text[2:]}{seed}.png"
            Image.new("RGB", (4, 4), (seed, ord(text[2]), 0)).save(tmp_path / file)
            images.append(ImageRecord(seed, file, {"fake": Detection("male")}))
        prompts.append(
            PromptRecord(text, text, "profession", text, "neutral", {}, None, images=tuple(images))
        )
    record = RunRecord(
        created="2026-11-21T10:00:00+00:00",
        seconds=1,
        model="m",
        settings={"images": 40, "seed": 0, "store": ".t2i", "report": "r"},
        provenance={},
        work={"planned": 80, "made": 80},
        prompts=tuple(prompts),
    )
    record.write(tmp_path / "run.json")
    return tmp_path


def rows(folder):
    return list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))


def test_the_seed_decides_and_nothing_tells_of_the_detector(run_of_two_prompts):
    folder = run_of_two_prompts
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        words = ["label", "export", "run.json", name, "--per-prompt", "15", "--seed", seed]
        assert main(words) == 0
    assert rows(folder / "a") == rows(folder / "b")
    assert rows(folder / "a") != rows(folder / "c")
    assert list(rows(folder / "a")[0]) == ["file", "prompt", "seed"]
    assert sum(row["prompt"] == "a nurse" for row in rows(folder / "a")) == 15
