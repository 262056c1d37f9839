"""``t2i sample``: what it copies, and what it does not although a run.json names it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.cli.support.sample_images import choose
from pytest_t2i.data import Interval
from pytest_t2i.runs.record import ImageRecord, PromptRecord, RunRecord


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
    score = Interval(0.5, 0.1, 0.9, 0.95, "wilson", 4)
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
    (tmp_path / "run.json").write_text(hostile.to_json())
    assert main(["sample", "run.json", "to label"]) == 0
    told = capsys.readouterr().out
    assert "t2i label 'to label' --annotator NAME --model 'x; touch owned" in told
    assert "\x1b" not in told
