"""A detector of other groups than male and female flows through the same run."""

from __future__ import annotations

import json

import pytest
from caveats import how_decided

from pytest_t2i import read_run
from pytest_t2i.cli.main import main

# Imported within a test it is dropped after it, and a second import quarrels with the first.
pytest.importorskip("pandas")

CONFTEST = """
import os

import fakes
from pytest_t2i.data import Detection

LIMIT = int(os.environ.get("LIMIT", "200"))

class Ages:
    fingerprint = "ages"
    labels = ("young", "adult", "old")
    def detect(self, images):
        found = []
        for image in images:
            byte = image.getpixel((0, 0))[0]
            found.append(Detection("young" if byte < LIMIT else "old"))
        return found

def pytest_t2i_models():
    return {"fair": fakes.fair, "biased": fakes.biased}

def pytest_t2i_detectors():
    return {"ages": lambda options: Ages(), "colour": fakes.detector}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_distance(sample):
    assert sample.group_distance <= limit("group_distance", 0.2)

@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    assert samples.group_distance <= limit("group_distance.model", 0.1)

@pytest.mark.t2i(PEOPLE)
def test_moved(samples, baseline):
    assert samples.group_distance <= baseline("group_distance")

@pytest.mark.t2i(PEOPLE)
def test_shares(samples):
    assert set(samples.shares) == {"young", "adult", "old"}
    assert samples.shares["adult"].estimate == 0.0
"""


@pytest.fixture
def aged(finished):
    files = {"conftest.py": CONFTEST, "test_suite.py": SUITE}
    return finished("aged", "--t2i-detector", "ages", files=files)


@pytest.mark.slow
def test_groups_have_their_line(aged):
    aged.result.stdout.fnmatch_lines(["groups by ages: young 0.*, old 0.*, adult 0.000; distance*"])


@pytest.mark.slow
def test_groups_are_recorded_and_shown(aged):
    shares = {row["subject"]: row for row in aged.rows("parity", "group_share", "group")}
    assert set(shares) == {"young", "adult", "old"}
    assert shares["young"]["dims"] == {"detector": "ages"}
    assert shares["young"]["value"]["estimate"] > 0.5
    page = aged.page()
    assert "Groups by ages" in page


@pytest.mark.slow
def test_groups_have_verdicts_bars_and_tables(aged):
    checks = {
        check["subject"]: check
        for check in aged.record()["checks"]
        if check["metric"] == "group_distance"
    }
    assert checks["model"]["outcome"] == "FAIL"
    assert any(check["outcome"] == "FAIL" for name, check in checks.items() if name != "model")
    (distance,) = aged.rows("parity", "group_distance")
    assert distance["value"]["low"] > 0.1
    prompts = aged.rows("parity", "group_distance", "prompt")
    assert len(prompts) == 4
    assert sum(prompts[0]["counts"].values()) == prompts[0]["facts"]["labelled"]
    assert aged.rows("parity", "model_bias_score") == []
    page = aged.page()
    assert "Distance from even shares" in page
    assert "Furthest from even" in page
    assert " young, beyond its limit" in page
    assert "Prompts, worst first" not in page
    assert "no gender label" not in page.split("Groups by ages")[0].split("Prompts")[0]
    frame = read_run(aged.path / "reports/t2i/run.json").to_frame("parity")
    shares = frame[frame.metric == "group_share"]
    assert set(shares.subject) == {"young", "adult", "old"}
    assert shares.images.sum() == sum(row["facts"]["labelled"] for row in prompts)


@pytest.mark.slow
def test_a_baseline_gates_groups(project, monkeypatch):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    how = ("--t2i-detector", "ages", "-k", "moved or model", "--t2i-images", "40")
    project.run(*how, "--t2i-save-baseline=base.json")
    again = project.run(*how, "--t2i-baseline=base.json", "-k", "moved")
    again.assert_outcomes(passed=1, deselected=6)
    (check,) = project.record()["checks"]
    assert how_decided(check) == "identical pictures"


STOPPING = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_distance(sample):
    assert sample.group_distance <= limit("group_distance", 0.1)

@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    assert samples.group_distance <= limit("group_distance.model", 0.1)
"""


@pytest.mark.slow
def test_groups_take_all_their_images(finished):
    run = finished(
        "aged-whole", "--t2i-detector", "ages", "--t2i-sequential", "--t2i-images", "40",
        files={"conftest.py": CONFTEST, "test_suite.py": STOPPING},
    )  # fmt: skip
    record = run.record()
    assert {check["outcome"] for check in record["checks"]} == {"FAIL"}
    assert record["work"]["made"] == 160
    told = "*early stopping saves no images of test_distance, test_model: *"
    run.result.stdout.fnmatch_lines([told])


@pytest.mark.slow
def test_models_are_compared_by_their_groups(finished, capsys):
    run = finished(
        "aged-several", "--t2i-detector", "ages", "--t2i-images", "8", model="fair,biased",
        files={"conftest.py": CONFTEST, "test_suite.py": STOPPING}, apart=True,
    )  # fmt: skip
    report = run.path / "reports/t2i"
    comparison = json.loads((report / "compare.json").read_text())
    assert comparison["metric"] == "group_distance"
    assert comparison["groups"] == ["young", "adult", "old"]
    assert len(comparison["prompts"]) == 4
    assert "nearest to even shares" in (report / "index.html").read_text()
    run.result.stdout.fnmatch_lines(["group distance: 0 is even shares of 3 groups (young, *"])
    # A store tells which groups were seen, and not which there are.
    store = str(run.path / ".t2i")
    assert main(["compare", store, "--report", str(run.path / "out")]) == 2
    assert "name all of them" in capsys.readouterr().err
    groups = ("--groups", "young,adult,old")
    assert main(["compare", store, "--report", str(run.path / "out"), *groups]) == 0
    again = json.loads((run.path / "out/compare.json").read_text())
    assert again["pairs"][0]["difference"] == comparison["pairs"][0]["difference"]
