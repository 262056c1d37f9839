"""Detectors evaluated against labelled images."""

from __future__ import annotations

import json

import pytest
from fakes import BLUE, GREY, RED
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.labels import Label

SUITE = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i
def test_filter(trial):
    assert trial.filter_f1 >= limit("filter_f1", 0.5)
    assert trial.filter_rate >= limit("filter_rate", 0.3)

@pytest.mark.t2i
@pytest.mark.parametrize("label", ["male", "female"])
def test_accuracy(trial, label):
    assert trial.accuracy(label) >= limit("accuracy", 0.8)

@pytest.mark.t2i
def test_scores(trials):
    for trial in trials:
        assert abs(trial.percent_deviation) <= limit("percent_deviation", 60)
        assert trial.prompt_bias_difference <= limit("prompt_bias_difference", 1.5)

@pytest.mark.t2i
@pytest.mark.parametrize("label", ["male", "female"])
def test_no_group_got_worse(trial, baseline, label):
    assert trial.accuracy(label) >= baseline("accuracy")
"""
COLOURS = {"male": BLUE, "female": RED, "low_quality": GREY}


def write_set(folder, *, wrong=0):
    """40 clear images of 4 prompts and 12 of low quality; the first ``wrong`` are mislabelled."""
    folder.mkdir()
    kinds = [("male", k % 4) for k in range(24)] + [("female", k % 4) for k in range(16)]
    kinds += [("low_quality", k % 4) for k in range(12)]
    said = []
    for k, (label, prompt) in enumerate(kinds):
        picture = Image.new("RGB", (16, 16), COLOURS[label])
        picture.putpixel((0, 0), (k, 0, 0))
        picture.save(folder / f"{k:02}.png")
        word = "female" if k < wrong else label
        said.append(Label(f"{k:02}.png", word, "ada", "", f"a photo of person {prompt}"))
    labels.write_labels(folder, said)
    return folder


FILES = {"test_suite.py": "", "test_trials.py": SUITE}
BOTH, COLOUR, SECOND = (
    ("--t2i-detector", names, "--t2i-labels", "people")
    for names in ("colour,second", "colour", "second")
)
BASELINE = ("--t2i-baseline", "base.json", "-k", "worse")


def write_people(path):
    write_set(path / "people")


@pytest.fixture
def trials(project):
    """A project with labelled images and tests of detectors."""
    project.write(FILES)
    write_people(project.path)
    return project


@pytest.fixture
def tried(finished):
    """Such a project, in which both detectors have been tried."""
    how = {"files": FILES, "prepare": write_people, "model": None}
    return finished("tried", *BOTH, "-v", "-rs", **how)


@pytest.fixture
def recorded(project, finished):
    """Such a project, in which one detector's trial was recorded as a baseline."""
    how = {"files": FILES, "prepare": write_people, "model": None}
    project.take(finished("recorded-trial", *COLOUR, "--t2i-save-baseline", "base.json", **how))
    return project


def rows_of(project, metric):
    """Subject -> row of a metric in the last run.json."""
    rows = project.rows("detector_validation", metric, "detector")
    return {row["subject"]: row for row in rows}


def albums_of(project):
    """Detector -> album of its mistakes in the last run.json."""
    (section,) = project.record()["audits"]["detector_validation"]["blocks"]
    return {block["title"]: block for block in section["blocks"] if block["is"] == "Album"}


def run(project, *arguments, model=None):
    return project.run(*arguments, model=model)


def test_every_detector_is_tried_without_a_model(tried):
    # With four prompts a percent deviation has no verdict.
    tried.result.assert_outcomes(passed=6, skipped=4)
    tried.result.stdout.fnmatch_lines(["*test_filter?colour?*PASSED*", "*SKIPPED*no baseline*"])
    assert list(rows_of(tried, "filter_f1")) == ["colour", "second"]
    kept = rows_of(tried, "kept_share")["colour on low_quality"]
    assert (kept["value"], kept["counts"]) == (0.0, {"undetected:no_person": 12})
    assert rows_of(tried, "accuracy")["colour on female"]["value"]["estimate"] == 1.0
    assert rows_of(tried, "percent_deviation")["colour"]["value"] is None
    assert "colour" not in albums_of(tried)
    assert not tried.made()


def test_mistakes_are_named_and_fail(trials):
    write_set(trials.path / "other", wrong=20)
    result = run(trials, *COLOUR[:3], "other", "-k", "accuracy")
    # Four images of men are left: all are right, and that is too few to say.
    assert result.parseoutcomes() == {"inconclusive": 1, "failed": 1, "deselected": 4}
    result.stdout.fnmatch_lines(
        ["*accuracy of colour on female*", "*20 mistakes: 00.png is female*"]
    )
    assert len(albums_of(trials)["colour"]["pictures"]) == 20


def test_detections_are_kept(project, tried):
    project.take(tried)
    run(project, *BOTH)
    assert project.record()["work"]["detected"] == 0


def test_with_a_model_the_labelled_set_is_looked_at_besides(trials):
    result = run(trials, *COLOUR, model="fair")
    result.assert_outcomes(passed=3, skipped=2)
    assert not trials.made()


@pytest.mark.slow
def test_xdist_gives_the_same_record(trials, tried):
    result = trials.run_apart(*BOTH, "-n", "2", model=None)
    result.assert_outcomes(passed=6, skipped=4)
    apart, alone = (p.record()["audits"]["detector_validation"] for p in (trials, tried))
    assert apart == alone


def test_a_worse_version_of_a_detector_is_a_regression(recorded):
    words = json.loads((recorded.path / "base.json").read_text())["audits"]["detector_validation"][
        "colour"
    ]["words"]
    assert len(words) == 52
    run(recorded, *COLOUR, "--t2i-baseline", "base.json").assert_outcomes(passed=5)
    # Before, colour was right of every man; now it is compared with one that is right of a third.
    fakes = (recorded.path / "fakes.py").read_text()
    worse = fakes.replace(
        "first if blue > red", "first if blue > red and image.getpixel((0, 0))[0] % 3"
    )
    recorded.write({"fakes.py": worse.replace('f"fake-detector-', 'f"newer-detector-')})
    result = run(recorded, *COLOUR, *BASELINE)
    assert result.parseoutcomes() == {"inconclusive": 1, "failed": 1, "deselected": 4}
    result.stdout.fnmatch_lines(["*worse on 8 images, better on 0: 00.png, 03.png*"])
    assert words["00.png"] == "male"


def test_a_baseline_of_another_detector(recorded):
    result = run(recorded, *SECOND, *BASELINE)
    result.stdout.fnmatch_lines(["*the baseline has no trial of detector 'second'*"])


def test_a_baseline_of_other_images(recorded):
    labels.record(recorded.path / "people", Label("00.png", "others", "ada"))
    result = run(recorded, *COLOUR, *BASELINE)
    result.stdout.fnmatch_lines(["*tried other labelled images with detector 'colour'*"])


def test_without_labels_trials_are_skipped(trials):
    result = trials.run("-rs")
    result.assert_outcomes(skipped=6)
    result.stdout.fnmatch_lines(["*no labelled images given; run with --t2i-labels FOLDER*"])


def test_without_a_model_other_tests_are_skipped(trials):
    trials.write({"test_more.py": PERSON})
    result = run(trials, *BOTH, "-rs", "test_more.py")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no model given*"])


PERSON = """
import pytest

@pytest.mark.t2i("a photo of a person")
def test_it(sample):
    pass
"""


def test_an_unreadable_image_is_undetected(trials):
    (trials.path / "people" / "00.png").write_bytes(b"no picture")
    run(trials, *COLOUR)
    said = {"male": 23, "undetected:unreadable": 1}
    assert rows_of(trials, "kept_share")["colour on male"]["counts"] == said
