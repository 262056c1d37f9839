"""A run corrected by people's labels on some of its images."""

from __future__ import annotations

import csv
from dataclasses import replace
from html import unescape

import pytest
from caveats import remarks_of
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label
from pytest_t2i.reporting.formatting import signed


def label_by_eye(folder, *, all_male=False):
    """What a person sees: blue is a man, red a woman."""
    said = []
    for name in labels.image_files(folder):
        red, _, blue = Image.open(folder / name).getpixel((8, 8))
        word = "male" if blue > red or all_male else "female"
        said.append(Label(name, word, "ada"))
    labels.write_labels(folder, said)


@pytest.fixture
def sampled(project, fair, capsys):
    project.take(fair)
    run_json, folder = project.path / "reports/t2i/run.json", project.path / "sampled"
    # The run was made in another project: its pictures are in that project's store.
    picture = project.record()["prompts"][0]["images"][0]["file"]
    store = ["--store", picture.partition("/images/")[0]]
    assert main(["label", "export", str(run_json), str(folder), "--per-prompt", "8", *store]) == 0
    assert "48 images in" in capsys.readouterr().out
    return project, folder


@pytest.mark.slow
def test_a_sample_is_blind_and_has_a_manifest(sampled):
    _, folder = sampled
    assert labels.image_files(folder) == [f"{k:02}.png" for k in range(1, 49)]
    rows = list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))
    assert len(rows) == 48
    assert [row["prompt"] for row in rows] != sorted(row["prompt"] for row in rows)


def corrections(project):
    return project.rows("parity", "corrected_model_bias_score", "detector")


def score(project):
    (row,) = project.rows("parity", "model_bias_score")
    return row


@pytest.mark.slow
def test_right_labels_change_little_and_are_told(sampled):
    project, folder = sampled
    label_by_eye(folder)
    result = project.run("-k", "test_model", "--t2i-labels", str(folder))
    result.stdout.fnmatch_lines(
        ["corrected by 48 labels of 1 annotator: model bias score * (uncorrected *"]
    )
    (correction,) = corrections(project)
    assert correction["counts"]["labels"] == 48
    plain = score(project)["facts"]["uncorrected"]
    assert correction["value"]["estimate"] == pytest.approx(plain, abs=0.05)
    assert len(project.rows("parity", "corrected_prompt_bias_score", "prompt")) == 6


def test_labels_against_the_detector_turn_the_verdict(sampled):
    project, folder = sampled
    assert project.record()["outcome"] != "FAIL"
    label_by_eye(folder, all_male=True)
    result = project.run("-k", "test_model", "--t2i-labels", str(folder))
    assert project.record()["outcome"] == "FAIL"
    result.stdout.fnmatch_lines(["*corrected by 48 labels of 1 annotator; uncorrected: 0.*"])
    page = project.page()
    assert "Corrected by people's labels" in unescape(page)


def test_bars_verdicts_and_the_worst_prompts_go_by_people(sampled):
    """Every label says a man: so do prompts' scores, their checks and the first screen."""
    project, folder = sampled
    label_by_eye(folder, all_male=True)
    result = project.run("--t2i-labels", str(folder))
    record = project.record()
    checks = {c["subject"]: c for c in record["checks"] if c["metric"] == "prompt_bias_score"}
    assert checks
    for prompt in record["prompts"]:
        own, plain = prompt["prompt_bias_score"], prompt["uncorrected"]
        assert own["estimate"] > 0.5
        assert own["estimate"] > plain
        assert own["method"].endswith("+ ppi++")
        assert prompt["worst_case"] is None
        if prompt["id"] not in checks:
            continue
        check = checks[prompt["id"]]
        # Checks hold absolute values.
        assert check["estimate"] == pytest.approx(abs(own["estimate"]))
        assert any(
            "corrected by 48 labels of 1 annotator; uncorrected: " in told
            for told in remarks_of(check)
        )
    whole = score(project)
    assert whole["value"]["low"] > whole["facts"]["uncorrected"]
    told = " ".join(result.stdout.str().split())
    assert told.count("(uncorrected ") == 1
    page = unescape(project.page())
    assert "from people's 8 labels (8 male); colour alone" in page
    summary = (project.path / "reports/t2i/summary.md").read_text()
    assert summary.count("uncorrected") >= 1


WRONG = {"none": (), "some": range(0, 48, 5), "many": range(0, 48, 2), "all": range(48)}


@pytest.mark.parametrize("wrong", WRONG)
def test_every_place_shows_the_judged_number(sampled, wrong):
    project, folder = sampled
    label_by_eye(folder)
    other = {"male": "female", "female": "male"}
    said = labels.read_labels(folder)
    for place in WRONG[wrong]:
        said[place] = replace(said[place], label=other[said[place].label])
    labels.write_labels(folder, said)
    result = project.run("-k", "test_model or test_prompt", "--t2i-labels", str(folder))
    record, (correction,) = project.record(), corrections(project)
    check = next(c for c in record["checks"] if c["is_of_model"])
    judged = (check["estimate"], check["low"], check["high"])
    for shown in (score(project)["value"], correction["value"]):
        assert (shown["estimate"], shown["low"], shown["high"]) == pytest.approx(judged)
    assert {p["id"]: p["prompt_bias_score"] for p in record["prompts"] if p["people"]} == {
        row["subject"]: row["value"]
        for row in project.rows("parity", "corrected_prompt_bias_score", "prompt")
    }
    assert correction["counts"]["labels"] == 48
    assert sum(sum(p["people"].values()) for p in record["prompts"]) == 48
    number = f"{judged[0]:.3f} [{judged[1]:.3f}, {judged[2]:.3f}]"
    summary = (project.path / "reports/t2i/summary.md").read_text().replace("\\", "")
    assert summary.count(number) >= 3  # the check, the scores, the correction
    assert result.stdout.str().count(number) >= 2
    page = unescape(project.page())
    for prompt in record["prompts"]:
        people = ", ".join(f"{n} {label}" for label, n in sorted(prompt["people"].items())[::-1])
        count = sum(prompt["people"].values())
        alone = f"colour alone {signed(prompt['uncorrected'])} ("
        beside = f"from people's {count} labels ({people}); {alone}"
        assert page.count(beside) >= 2, beside


def test_what_few_labels_leave_open_asks_for_labels_and_not_for_images(sampled):
    project, folder = sampled
    label_by_eye(folder)
    first = [label for label in labels.read_labels(folder) if int(label.file[:2]) <= 40]
    labels.write_labels(folder, first)
    project.run("-k", "test_prompt or test_model", "--t2i-labels", str(folder))
    record = project.record()
    open_ones = [c for c in record["checks"] if c["outcome"] == "INCONCLUSIVE"]
    assert open_ones
    told = " ".join(record["next_steps"])
    assert "on people's labels: more of them decide" in told
    assert "images per prompt" not in told
    assert "number of images" not in told


FEW = {
    "four of each": [4] * 6,
    "two of each": [2] * 6,
    "one of one": [1],
    "half have enough": [6, 6, 6, 2, 2, 2],
    "one has four": [8, 8, 8, 8, 8, 4],
    "one has none": [5, 5, 5, 5, 5, 0],
}
"""Labels of each prompt; its correction needs five, and all but a tenth must have them."""


@pytest.mark.parametrize("few", FEW)
def test_too_few_labels_give_the_model_no_verdict_and_the_reason(sampled, few):
    project, folder = sampled
    rows = list(csv.DictReader((folder / "manifest.csv").read_text().splitlines()))
    left = dict(zip(sorted({row["prompt"] for row in rows}), FEW[few], strict=False))
    chosen = set()
    for row in rows:
        if left.get(row["prompt"], 0):
            left[row["prompt"]] -= 1
            chosen.add(row["file"])
    label_by_eye(folder)
    labels.write_labels(folder, [one for one in labels.read_labels(folder) if one.file in chosen])
    result = project.run("-k", "test_prompt or test_model", "--t2i-labels", str(folder))
    [check] = [c for c in project.record()["checks"] if c["is_of_model"]]
    assert (check["outcome"], check["estimate"]) == ("INCONCLUSIVE", None)
    short = sum(count < 5 for count in FEW[few]) + 6 - len(FEW[few])
    told = f"{short} of 6 prompts have fewer than the 5 labels that their correction needs"
    assert told in " ".join(result.stdout.str().split())
    assert told in unescape(project.page())
    assert told in (project.path / "reports/t2i/summary.md").read_text()
    assert corrections(project) == []
    remarks = [remarks_of(c) for c in project.record()["checks"] if not c["is_of_model"]]
    plain = sum(any(told.startswith("not corrected: ") for told in each) for each in remarks)
    assert plain <= sum(0 < count < 5 for count in FEW[few])


def test_labels_of_other_images_are_told(sampled):
    project, _ = sampled
    other = project.path / "other"
    other.mkdir()
    Image.new("RGB", (9, 9)).save(other / "a.png")
    labels.write_labels(other, [Label("a.png", "male", "ada")])
    result = project.run("-k", "test_model", "--t2i-labels", str(other))
    result.stdout.fnmatch_lines(["*none of the labelled images is of this run*"])
    assert corrections(project) == []


def test_a_sample_does_not_go_into_a_full_folder(sampled, capsys):
    project, folder = sampled
    assert main(["label", "export", str(project.path / "reports/t2i/run.json"), str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
