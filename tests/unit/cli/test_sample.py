"""``t2i label export``: what it copies, and what it does not although a run.json names it."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import pytest
from PIL import Image

from pytest_t2i.cli.main import main
from pytest_t2i.cli.sample import choose
from pytest_t2i.data import Detection, Interval, Undetected
from pytest_t2i.files import checksum
from pytest_t2i.labels import draw_of
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
    assert main(["label", "export", "run.json", "to label"]) == 0
    told = capsys.readouterr().out
    assert "t2i label page 'to label' --annotator NAME --model 'x; touch owned" in told
    assert "\x1b" not in told


MALE, FEMALE = Detection("male"), Detection("female")
LOST = Detection(None, Undetected.NO_FACE)


@pytest.fixture
def drawn_run(tmp_path, monkeypatch):
    """A drawn_run of two prompts: all men but one, and even; 40 images each."""
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


def test_doubtful_images_are_drawn_and_all_chances_kept(drawn_run, capsys):
    folder = drawn_run() / "drawn"
    assert main(["label", "export", "run.json", "drawn", "--for-correction", "40"]) == 0
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


def test_the_seed_decides_and_nothing_tells_of_the_detector(drawn_run):
    folder = drawn_run()
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        main(
            [
                "label",
                "export",
                "run.json",
                name,
                "--for-correction",
                "30",
                "--seed",
                seed,
            ]
        )
    assert draw_of(folder / "a") == draw_of(folder / "b")
    assert draw_of(folder / "a").drawn != draw_of(folder / "c").drawn
    assert list(rows(folder / "a")[0]) == ["file", "prompt", "seed"]


def test_of_few_images_all_are_taken(drawn_run):
    folder = drawn_run()
    assert main(["label", "export", "run.json", "all", "--for-correction", "500"]) == 0
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
def test_what_cannot_be_drawn_is_told(drawn_run, capsys, given, message):
    drawn_run()
    with pytest.raises(SystemExit) if "allowed" in message else pytest.MonkeyPatch.context():
        assert main(["label", "export", "run.json", "x", *given]) != 0
    assert message in capsys.readouterr().err


def test_a_detector_of_other_labels_is_refused(drawn_run, capsys):
    drawn_run([Detection("child")] * 40, [Detection("adult")] * 40)
    assert main(["label", "export", "run.json", "x", "--for-correction", "40"]) != 0
    assert "labels no image male or female" in capsys.readouterr().err
