"""``t2i sample --for-correction``: where the labels go, and what is kept of the chances."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.files import checksum
from pytest_t2i.labels import draw_of
from pytest_t2i.runs.record import ImageRecord, PromptRecord, RunRecord

MALE, FEMALE = Detection("male"), Detection("female")
LOST = Detection(None, Undetected.NO_FACE)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of two prompts: all men but one, and even; 40 images each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".t2i").mkdir()

    def make(one_sided=(*[MALE] * 38, FEMALE, LOST), even=(MALE, FEMALE) * 20):
        prompts = []
        for text, said in (("a pilot", one_sided), ("a nurse", even)):
            images = []
            for seed, detection in enumerate(said):
                file = f".t2i/{text[2:]}{seed}.png"
                Image.new("RGB", (4, 4), (seed, ord(text[2]), 0)).save(tmp_path / file)
                images.append(ImageRecord(seed, file, {"fake": detection}))
            prompts.append(
                PromptRecord(
                    text, text, "profession", text, "neutral", {}, None, images=tuple(images)
                )
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
        (tmp_path / "run.json").write_text(record.to_json())
        return tmp_path

    return make


def rows(folder):
    return list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))


def test_doubtful_images_are_drawn_and_all_chances_kept(run, capsys):
    folder = run() / "drawn"
    assert main(["sample", "run.json", "drawn", "--for-correction", "40"]) == 0
    assert "40 images in drawn" in capsys.readouterr().out
    assert len(rows(folder)) == 40
    # The even prompt has most of the doubt.
    assert sum(row["prompt"] == "a nurse" for row in rows(folder)) >= 25
    draw = draw_of(folder)
    assert len(draw.probabilities) == 80
    assert sum(draw.probabilities.values()) == pytest.approx(40.0)
    there = {checksum((folder / row["file"]).read_bytes()) for row in rows(folder)}
    assert draw.drawn == there
    # The lone woman among men is doubtful, each of the men little.
    chances = [
        draw.probabilities[checksum((folder.parent / f".t2i/pilot{seed}.png").read_bytes())]
        for seed in (0, 38)
    ]
    assert chances[1] > 2 * chances[0] > 0.0


def test_the_seed_decides_and_nothing_tells_of_the_detector(run):
    folder = run()
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        main(["sample", "run.json", name, "--for-correction", "30", "--seed", seed])
    assert draw_of(folder / "a") == draw_of(folder / "b")
    assert draw_of(folder / "a").drawn != draw_of(folder / "c").drawn
    assert list(rows(folder / "a")[0]) == ["file", "prompt", "seed"]


def test_of_few_images_all_are_taken(run):
    folder = run()
    assert main(["sample", "run.json", "all", "--for-correction", "500"]) == 0
    assert len(rows(folder / "all")) == 80
    assert set(draw_of(folder / "all").probabilities.values()) == {1.0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--for-correction", "29"], "expected at least 30"),
        (["--for-correction", "40", "--objects", "3"], "not allowed with argument"),
        (["--for-correction", "40", "--per-prompt", "3"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_drawn_is_told(run, capsys, given, message):
    run()
    with pytest.raises(SystemExit) if "allowed" in message else pytest.MonkeyPatch.context():
        assert main(["sample", "run.json", "x", *given]) != 0
    assert message in capsys.readouterr().err


def test_a_detector_of_other_labels_is_refused(run, capsys):
    run([Detection("child")] * 40, [Detection("adult")] * 40)
    assert main(["sample", "run.json", "x", "--for-correction", "40"]) != 0
    assert "labels no image male or female" in capsys.readouterr().err
