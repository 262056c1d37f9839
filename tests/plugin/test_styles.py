"""Styles in a run: made beside the plain prompts, judged, kept and shown; what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SUITE = """
import pytest
from pytest_t2i import axes, intersection, limit
from pytest_t2i.prompts import templates

PEOPLE = axes.profession.only("doctor", "teacher")
STYLED = intersection(templates("a picture of one person"), PEOPLE, axes.style.only({styles}))

@pytest.mark.t2i(STYLED, images=60)
def test_styles(styles):
    assert abs(styles.widest_gap) <= limit("style_gap", 0.3)

@pytest.mark.t2i(STYLED, images=60)
def test_pop_art(styles):
    assert styles.gap("Pop Art") <= limit("style_gap", 0.6)
"""
PLANTED = """
import fakes
from fakes import FakeModel

class Planted(FakeModel):
    # Men alone in Ukiyo-e.
    def _one(self, request):
        self.p_male = 1.0 if "Ukiyo-e" in request.prompt else 0.5
        return super()._one(request)

def pytest_t2i_models():
    return {"planted": lambda options: Planted(0.5, "planted"), "fair": fakes.fair}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}
"""
SHIPPED = Path(__file__).parents[2] / "suites"


@pytest.fixture
def studio(project):
    project.write(
        {"conftest.py": PLANTED, "test_suite.py": SUITE.format(styles='"Ukiyo-e", "Pop Art"')}
    )
    return project


def said(result):
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def test_a_style_that_shows_men_alone_is_named_beside_the_plain_prompts(studio):
    result = studio.run("--t2i-images", "60", model="planted")
    told = said(result)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "FAIL" in told
    assert "styles: of 2 Ukiyo-e is furthest from the plain prompts" in told
    part = studio.part("styles")
    by_name = {one["style"]: one for one in part["styles"]}
    assert by_name["Ukiyo-e"]["with_style"] == {"men": 120, "clear": 120, "images": 120}
    assert by_name["Ukiyo-e"]["plain"]["images"] == 120
    assert by_name["Ukiyo-e"]["gap"]["low"] > 0
    # Two people, with two styles and without.
    assert len(studio.made()) == 2 * 3 * 60
    page = studio.page()
    assert "Each style beside the plain prompts" in page
    assert "Who is shown" in page
    checks = {check["subject"]: check["outcome"] for check in studio.record()["checks"]}
    assert checks == {"model (furthest style)": "FAIL", "model, Pop Art": "PASS"}


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ('axes.profession.only("nurse")', "the fixture styles needs prompts that name a style"),
        ('axes.style.only("Kubism")', "unknown concept of axis 'style' 'Kubism'"),
    ],
)
def test_what_is_no_style_is_one_clear_line(studio, mark, expected):
    suite = SUITE.format(styles='"Pop Art"').replace(
        "@pytest.mark.t2i(STYLED", f"@pytest.mark.t2i({mark}"
    )
    studio.write({"test_suite.py": suite})
    told = said(studio.run(model="planted"))
    assert expected in told
    assert "Traceback" not in told
    assert studio.made() == []


def test_one_image_of_each_is_no_evidence(studio):
    suite = SUITE.format(styles='"Pop Art"').replace("images=60", "images=1")
    studio.write({"test_suite.py": suite})
    studio.run(model="planted")
    assert {check["outcome"] for check in studio.record()["checks"]} == {"INCONCLUSIVE"}


@pytest.mark.slow
def test_the_shipped_suite_runs_when_it_is_named(project):
    for name in ("styles", "parity"):
        shutil.copytree(SHIPPED / name, project.path / "suites" / name)
    for name in ("conftest.py", "limits.toml"):
        shutil.copy(SHIPPED / name, project.path / "suites" / name)
    project.write({"conftest.py": PLANTED})
    assert "test_styles" not in said(project.run("--collect-only", "-q", "suites", model="planted"))
    told = said(project.run("--t2i-images", "8", "suites/styles", model="planted"))
    assert "styles: of 43 Ukiyo-e is furthest" in told
