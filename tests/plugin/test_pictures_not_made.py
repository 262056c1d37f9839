"""Runs that make no picture say so: ready-made pictures, labelled ones, and runs cut short."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
from PIL import Image

from pytest_t2i import read_run
from pytest_t2i.cli.main import main
from pytest_t2i.reporting.exports.cards import card_contents
from pytest_t2i.reporting.run_facts import work_table

PROMPT = "a photo of one real person who is a nurse"
TRIAL = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i
def test_clear_images_are_kept(trial):
    assert trial.filter_recall >= limit("filter_recall")
"""


def pictures(project, count):
    """A folder with a manifest, in which people labelled every picture."""
    made = project.path / "mine"
    made.mkdir()
    manifest = [("file", "prompt", "seed")]
    labels = [("file", "label", "annotator", "reason", "prompt", "model")]
    for k in range(count):
        colour, label = ((40, 60, 200), "male") if k % 2 else ((200, 60, 40), "female")
        Image.new("RGB", (16, 16), (*colour[:2], colour[2] - k)).save(made / f"{k}.png")
        manifest.append((f"{k}.png", PROMPT, k))
        labels.append((f"{k}.png", label, "ada", "", PROMPT, "x"))
    for name, rows in (("manifest.csv", manifest), ("labels.csv", labels)):
        with (made / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)


@pytest.mark.slow
def test_ready_made_pictures_are_read_not_made(project):
    pictures(project, 6)
    result = project.run("--t2i-model", "images:mine", "-k", "test_prompt and nurse")
    told = result.stdout.str()
    assert "at most 20 images per prompt, store" in told
    assert "reading pictures of images:mine: 6/6" in told
    assert "images: 6 read from the folder" in told
    assert "1 prompt has fewer images than requested: 6" in told
    assert " made" not in told
    page = project.page()
    assert "Read from the folder" in page
    assert "Made in this run" not in page
    assert "<dt>Images per prompt</dt><dd>6</dd>" in page
    run = project.path / "reports/t2i/run.json"
    sampling = card_contents(read_run(run))["sampling"]
    assert "at most 6 images per prompt; pictures were made elsewhere" in sampling


def test_labels_alone_speak_of_no_images_that_are_made(project, capsys):
    pictures(project, 6)
    project.write({"test_suite.py": TRIAL, "limits.toml": "filter_recall = 0.9\n"})
    result = project.run_plainly("--t2i-labels", "mine", "--t2i-detector", "colour")
    told = result.stdout.str()
    assert "detector colour, labelled images of mine, store" in told
    assert "per prompt" not in told
    assert "Too few labelled images to decide most checks." in told
    assert "images: 6 with people's labels, none made" in told
    assert "from the store" not in told
    summary = (project.path / "reports/t2i/summary.md").read_text()
    assert "Images: 6 with people's labels, none made." in summary
    page = project.page()
    assert "Labelled by people" in page
    assert "From the store" not in page
    capsys.readouterr()
    assert main(["export", "pdf", str(project.path / "reports/t2i/run.json")]) == 2
    assert "a PDF is about a model" in capsys.readouterr().err


def test_a_page_of_a_run_cut_short_does_not_say_that_the_store_had_the_rest(fair):
    record = read_run(fair.path / "reports/t2i/run.json")
    assert "From the store" in dict(work_table(record))
    rows = dict(work_table(replace(record, is_interrupted=True)))
    assert "From the store" not in rows
    assert "In the store or not made yet" in rows


def test_where_all_is_within_the_page_does_not_say_most(project):
    project.write({"limits.toml": "prompt_bias_score = 0.95\n"})
    result = project.run("-k", "test_prompt and nurse")
    assert "PASS: Every check is within its limit." in result.stdout.str()
