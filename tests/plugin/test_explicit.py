"""Prompts that name a gender in a whole run: whom they show, judged, recorded, reported."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_t2i import read_run

# Imported within a test it is dropped after it, and a second import quarrels with the first.
pytest.importorskip("pandas")

SHIPPED = Path(__file__).parents[2] / "suites"
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
@pytest.mark.parametrize("gender", ["feminine", "masculine"])
def test_share(explicit, gender):
    assert explicit.drawn_share(gender) >= limit("drawn_share", 0.9)

@pytest.mark.t2i(PEOPLE)
def test_gap(explicit):
    assert abs(explicit.drawn_gap) <= limit("drawn_gap", 0.1)
"""
DEAF = """
from dataclasses import replace

import fakes

def pytest_t2i_detectors():
    return {"colour": fakes.detector}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}

def pytest_t2i_models():
    return {"deaf": lambda options: Deaf(0.5, "deaf")}

class Deaf(fakes.FakeModel):
    def _one(self, request):
        text = request.prompt.replace("female", "male") if "nurse" in request.prompt else None
        return super()._one(replace(request, prompt=text) if text else request)
"""


def test_who_is_asked_for_and_drawn_passes(project):
    project.write({"test_suite.py": SUITE})
    project.run("--t2i-images", "20").assert_outcomes(passed=3)
    shares = project.rows("explicit", "drawn_share")
    assert [row["counts"]["images"] for row in shares] == [80, 80]
    assert [row["value"]["estimate"] for row in shares] == [1.0, 1.0]
    assert project.rows("explicit", "drawn_gap")[0]["value"]["estimate"] == 0.0
    assert "Prompts that name a gender" in project.page()
    frame = read_run(project.path / "reports/t2i/run.json").to_frame("explicit")
    assert frame[frame.variant == "feminine"].drawn.tolist() == [20] * 4


def test_a_word_that_always_draws_men_is_found(project):
    project.write({"conftest.py": DEAF, "test_suite.py": SUITE})
    project.run("--t2i-images", "20", model="deaf").assert_outcomes(passed=1, failed=2)
    women, _ = project.rows("explicit", "drawn_share")
    assert women["value"]["estimate"] == pytest.approx(0.75)
    each = project.rows("explicit", "drawn_share", "triplet")
    nurse = {r["dims"]["variant"]: r["counts"] for r in each if "nurse" in r["subject"]}
    assert nurse == {
        "feminine": {"drawn": 0, "labelled": 20}, "masculine": {"drawn": 20, "labelled": 20},
    }  # fmt: skip
    summary = (project.path / "reports/t2i/summary.md").read_text()
    assert "women less often" in summary


@pytest.mark.slow
def test_the_shipped_suite_runs(project):
    shutil.copytree(SHIPPED / "explicit", project.path / "explicit")
    project.run("explicit").assert_outcomes(passed=3)
