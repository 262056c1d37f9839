"""A detector of other groups than male and female flows through the same run."""

from __future__ import annotations

import pytest

CONFTEST = """
import fakes
from pytest_t2i.data import Detection

class Ages:
    fingerprint = "ages"
    labels = ("young", "adult", "old")
    def detect(self, images):
        found = []
        for image in images:
            byte = image.getpixel((0, 0))[0]
            found.append(Detection("young" if byte < 200 else "old"))
        return found

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"ages": lambda options: Ages()}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_gap(sample):
    assert sample.group_gap <= limit("group_gap", 0.3)

@pytest.mark.t2i(PEOPLE)
def test_entropy(sample):
    assert sample.group_entropy >= limit("group_entropy", 0.2)

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
def test_gap_and_entropy_are_compared_with_limits(aged):
    outcomes = {(check["metric"], check["outcome"]) for check in aged.record()["checks"]}
    assert ("group_gap", "FAIL") in outcomes
    assert ("group_entropy", "FAIL") not in outcomes
    aged.result.stdout.fnmatch_lines(["*groups: * young, * old*"])
    aged.result.stdout.fnmatch_lines(["groups by ages: young 0.*, old 0.*, adult 0.000 (entropy*"])


@pytest.mark.slow
def test_groups_are_recorded_and_shown(aged):
    (groups,) = aged.part("parity")["groups"]
    assert groups["detector"] == "ages"
    assert set(groups["shares"]) == {"young", "adult", "old"}
    assert groups["shares"]["young"]["estimate"] > 0.5
    assert 0 < groups["entropy"] < 1
    page = aged.page()
    assert "Groups by ages" in page
