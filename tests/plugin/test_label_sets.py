"""Labels other than male and female: detectors evaluated, and no score corrected."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label

SUITES = Path(__file__).parents[2] / "suites"
CONFTEST = """
import fakes
from pytest_t2i.data import Detection, Undetected

class Ages:
    fingerprint = "ages"
    labels = ("young", "old")
    def detect(self, images):
        return [self.of(image.getpixel((0, 0))[0]) for image in images]
    def of(self, byte):
        if byte > 240:
            return Detection(None, Undetected.NO_FACE)
        return Detection("young" if byte < 160 else "old")

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"ages": lambda options: Ages(), "colour": fakes.detector}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot", "chef", "judge"))
def test_shares(samples):
    assert set(samples.shares) == {"young", "old"}

@pytest.mark.t2i
def test_accuracy(trial):
    assert all([trial.accuracy(label) >= limit("accuracy", 0.5) for label in trial.labels])
    assert trial.filter_recall >= limit("filter_recall", 0.5)

@pytest.mark.t2i
def test_score(trial):
    assert abs(trial.percent_deviation) <= limit("percent_deviation", 20)
"""
AGES = "young,middle,old"
"""A person says old from 100 on; the detector from 160. Nobody is called middle by it."""


def age_of(path):
    byte = Image.open(path).getpixel((0, 0))[0]
    return "young" if byte < 100 else "old"


@pytest.fixture
def aged(project, capsys):
    """A project whose run was sampled and labelled by age."""
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    first = project.run("--t2i-detector", "ages", "-k", "shares", "--t2i-images", "40")
    first.assert_outcomes(passed=1, deselected=2)
    folder = project.path / "sampled"
    run_json = project.path / "reports/t2i/run.json"
    assert main(["label", "export", str(run_json), str(folder), "--per-prompt", "20"]) == 0
    labels.choose_vocabulary(folder, labels.named(AGES))
    labels.write_labels(
        folder, [Label(n, age_of(folder / n), "ada") for n in labels.image_files(folder)]
    )
    return project


@pytest.mark.slow
def test_detectors_are_tried_and_groups_are_not_corrected(aged):
    how = ("--t2i-detector", "ages", "--t2i-labels", "sampled", "--t2i-images", "40")
    result = aged.run(*how, "-k", "not score", "-rs")
    record = aged.record()
    rows = aged.rows("detector_validation", "accuracy", "detector")
    accuracy = {row["dims"]["label"]: row["value"] for row in rows if row["dims"]}
    assert set(accuracy) == {"young", "middle", "old"}
    # Right of all that people call young; of the old it calls four in ten young.
    assert accuracy["young"]["estimate"] == 1.0
    assert 0.3 < accuracy["old"]["estimate"] < 0.8
    assert accuracy["middle"] is None
    assert aged.rows("detector_validation", "model_bias_score", "detector") == []
    assert {check["subject"] for check in record["checks"]} >= {"ages on young", "ages on middle"}
    assert aged.rows("parity", "corrected_model_bias_score", "detector") == []
    result.stdout.fnmatch_lines(
        ["*labels of young, middle, old correct no score: labels of male and female do*"]
    )
    page = aged.page()
    assert "labels do not correct these groups" in page
    assert "Accuracy, young" in page
    assert ">Deviation<" not in page
    assert "| young | 0." in (aged.path / "reports/t2i/summary.md").read_text()


@pytest.mark.slow
def test_bias_scores_of_other_labels_are_refused(aged):
    how = ("--t2i-detector", "ages", "--t2i-labels", "sampled", "-k", "score")
    result = aged.run(*how, model=None)
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(
        ["*percent_deviation needs male and female labels, but those of *sampled are young, mid*"]
    )


@pytest.mark.slow
def test_the_suite_of_detectors_takes_any_labels(aged):
    shutil.copytree(SUITES / "detectors", aged.path / "detectors")
    shutil.copy(SUITES / "limits.toml", aged.path / "detectors/limits.toml")
    how = ("--t2i-detector", "ages", "--t2i-labels", "sampled", "detectors")
    result = aged.run(*how, model=None)
    outcomes = result.parseoutcomes()
    assert outcomes["skipped"] == 4  # bias scores, a judge's agreement; no baseline
    assert "errors" not in outcomes
    checked = {check["subject"] for check in aged.record()["checks"]}
    assert {"ages on young", "ages on middle", "ages on old"} <= checked


@pytest.mark.slow
def test_a_detector_of_other_labels_is_refused(aged):
    result = aged.run("--t2i-detector", "colour", "--t2i-labels", "sampled")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*detector 'colour' says male, female, but the labels of *sampled"
                                 " are young, middle, old*--labels male,female*"])  # fmt: skip
