"""Whether a verdict hangs on the detector or the filter."""

from __future__ import annotations

import pytest

CONFTEST = """
import fakes
from pytest_t2i.data import Detection

class Contrary(fakes.FakeDetector):
    def __init__(self):
        super().__init__()
        self.fingerprint = "contrary"

    def _one(self, image):
        return Detection("male", scores={"p(male)": 0.95})

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"colour": fakes.detector, "contrary": lambda options: Contrary()}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
"""
FILES = {"conftest.py": CONFTEST, "test_suite.py": SUITE}


@pytest.mark.slow
def test_a_verdict_that_another_detector_turns_is_fragile(project):
    project.write(FILES)
    result = project.run("--t2i-detector", "colour,contrary")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["fragile: another detector*"])
    (checked,) = project.part("parity")["sensitivity"]
    assert checked["fragile"]
    outcomes = {(v["detector"], v["choice"]): v["outcome"] for v in checked["variations"]}
    assert outcomes["colour", "all labels"] == "PASS"
    assert outcomes["contrary", "all labels"] == "FAIL"
    page = project.page()
    assert "Would another choice turn the verdict?" in page


@pytest.mark.slow
def test_one_detector_varies_by_filter(project):
    project.write(FILES)
    project.run("--t2i-detector", "contrary")
    (checked,) = project.part("parity")["sensitivity"]
    assert not checked["fragile"]
    assert [v["choice"] for v in checked["variations"]] == [
        "all labels",
        "labels with a probability of at least 0.9 only",
    ]
    assert {v["outcome"] for v in checked["variations"]} == {"FAIL"}
