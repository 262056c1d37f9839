"""Detectors on trial against labelled images."""

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


@pytest.fixture
def trials(project):
    (project.path / "test_suite.py").unlink()
    (project.path / "test_trials.py").write_text(SUITE)
    write_set(project.path / "people")
    return project


def run(project, *arguments, detectors="colour,second", folder="people", model=None):
    named = ["--t2i-model", model] if model else []
    return project.pytester.runpytest_subprocess(
        *named, "--t2i-detector", detectors, "--t2i-labels", folder, *arguments
    )


def test_every_detector_is_tried_without_a_model(trials):
    result = run(trials, "-v", "-rs")
    result.assert_outcomes(passed=7, skipped=4)
    result.stdout.fnmatch_lines(["*test_filter?colour?*PASSED*", "*SKIPPED*no baseline given*"])
    record = trials.record()
    assert [one["detector"] for one in record["trials"]] == ["colour", "second"]
    first = record["trials"][0]
    assert first["confusion"]["low_quality"] == {"undetected:no_person": 12}
    assert first["accuracy_by_label"]["female"]["estimate"] == 1.0
    assert first["percent_deviation"]["estimate"] == 0.0
    assert first["mistakes"] == []
    assert not trials.made()


def test_mistakes_are_named_and_fail(trials):
    write_set(trials.path / "other", wrong=20)
    result = run(trials, "-k", "accuracy", detectors="colour", folder="other")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*accuracy of colour on female*", "*20 mistakes: 00.png is female*"]
    )
    assert len(trials.record()["trials"][0]["mistakes"]) == 20


def test_detections_are_kept(trials):
    run(trials)
    run(trials)
    assert trials.record()["work"]["detected"] == 0


def test_with_a_model_the_labelled_set_is_looked_at_besides(trials):
    result = run(trials, model="fair", detectors="colour")
    result.assert_outcomes(passed=4, skipped=2)
    assert not trials.made()


def test_xdist_gives_the_same_record(trials):
    run(trials)
    alone = trials.record()["trials"]
    result = run(trials, "-n", "2")
    result.assert_outcomes(passed=7, skipped=4)
    assert trials.record()["trials"] == alone


def test_a_worse_version_of_a_detector_is_a_regression(trials):
    run(trials, "--t2i-save-baseline", "base.json", detectors="colour")
    recorded = json.loads((trials.path / "base.json").read_text())
    assert len(recorded["trials"]["colour"]["words"]) == 52
    run(trials, "--t2i-baseline", "base.json", detectors="colour").assert_outcomes(passed=6)
    words = recorded["trials"]["colour"]["words"]
    # Before, colour was right of every man; now it is compared with one that is right of a third.
    (trials.path / "fakes.py").write_text(
        (trials.path / "fakes.py")
        .read_text()
        .replace("first if blue > red", "first if blue > red and image.getpixel((0, 0))[0] % 3")
        .replace('f"fake-detector-', 'f"newer-detector-')
    )
    result = run(trials, "--t2i-baseline", "base.json", "-k", "worse", detectors="colour")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*worse on 8 images, better on 0: 00.png, 03.png*"])
    assert words["00.png"] == "male"


def test_a_baseline_of_other_images_or_detectors(trials):
    run(trials, "--t2i-save-baseline", "base.json", detectors="colour")
    result = run(trials, "--t2i-baseline", "base.json", "-k", "worse", detectors="second")
    result.stdout.fnmatch_lines(["*the baseline has no trial of detector 'second'*"])
    labels.record(trials.path / "people", Label("00.png", "others", "ada"))
    result = run(trials, "--t2i-baseline", "base.json", "-k", "worse", detectors="colour")
    result.stdout.fnmatch_lines(["*tried other labelled images with detector 'colour'*"])


def test_without_labels_trials_are_skipped(trials):
    result = trials.run("-rs")
    result.assert_outcomes(skipped=6)
    result.stdout.fnmatch_lines(["*no labelled images given; run with --t2i-labels FOLDER*"])


def test_without_a_model_other_tests_are_skipped(trials):
    (trials.path / "test_more.py").write_text(
        "import pytest\n@pytest.mark.t2i('a photo of a person')\ndef test(sample):\n    pass\n"
    )
    result = run(trials, "-rs", "test_more.py")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no model given*"])


def test_an_unreadable_image_is_undetected(trials):
    (trials.path / "people" / "00.png").write_bytes(b"no picture")
    run(trials, detectors="colour")
    (found,) = trials.record()["trials"]
    assert found["confusion"]["male"] == {"male": 23, "undetected:unreadable": 1}
