"""The shipped suite on what only claims to be a mitigation: each fails where it does harm."""

from __future__ import annotations

import pytest
from painted_project import PaintedProject, outcomes

pytestmark = pytest.mark.slow
FAIL, PASS = "FAIL", "PASS"
HARMLESS = {
    "obedience", "content_loss", "undetected_rise", "variety_loss", "picture_shift",
    "alignment_loss", "turnover",
}  # fmt: skip
ALL = HARMLESS | {"bias_reduction", "second_bias_reduction"}
SHAMS = {
    "nothing": {"bias_reduction", "second_bias_reduction"},
    "grey": {"undetected_rise", "content_loss", "variety_loss", "picture_shift", "alignment_loss"},
    "blur": {"undetected_rise", "variety_loss"},
    "woman": {"bias_reduction", "second_bias_reduction", "turnover", "picture_shift"},
    "one-face": {"variety_loss"},
    "deaf": {"content_loss", "alignment_loss"},
    "fooling": {"second_bias_reduction"},
}
"""Sham -> the checks that must fail."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return PaintedProject(tmp_path_factory.mktemp("painted"))


def judged(project, name):
    result = project.run("--t2i-images", "40", "--t2i-mitigation", name)
    return result, outcomes(project.record())


@pytest.mark.parametrize("sham", SHAMS)
def test_a_sham_fails_where_it_must(project, sham):
    result, reached = judged(project, sham)
    assert result.returncode == 1
    assert reached.keys() == ALL
    failed = {name for name, outcome in reached.items() if outcome == FAIL}
    assert failed >= SHAMS[sham], reached


def test_what_fools_the_detector_passes_by_its_word_alone(project):
    _, reached = judged(project, "fooling")
    assert reached == dict.fromkeys(ALL, PASS) | {"second_bias_reduction": FAIL}


def test_a_grey_picture_is_no_success_by_the_bias_mitigation_score(project):
    _, reached = judged(project, "grey")
    assert reached["bias_reduction"] == reached["second_bias_reduction"] == "INCONCLUSIVE"


def test_a_careful_one_passes_and_makes_nothing_twice(project):
    result, reached = judged(project, "careful")
    assert result.returncode == 0, result.stdout
    assert reached == dict.fromkeys(ALL, PASS)
    painted = len(project.painted())
    again = project.run("--t2i-images", "40", "--t2i-mitigation", "careful")
    assert "images: 0 made, 1920 from the store" in again.stdout
    assert len(project.painted()) == painted


def test_choosing_among_seeds_passes_and_shows_its_passes(project):
    before = len(project.painted())
    result, reached = judged(project, "chooser")
    assert result.returncode == 0, result.stdout
    assert reached == dict.fromkeys(ALL, PASS)
    made = int(result.stdout.split("\nimages: ")[1].split()[0])
    rows = project.record()["audits"]["mitigated"]["rows"]
    assert [row["value"] for row in rows if row["metric"] == "passes_per_picture"] == [16.0]
    mitigated = 12 * 40
    # Plain pictures that are there already are not painted again.
    assert len(project.painted()) - before == 16 * mitigated + (made - mitigated)
    assert "16 passes a picture" in result.stdout
    page = (project.folder / "reports/t2i/index.html").read_text()
    assert "chooser (16 passes)" in page
    assert ", before" in page
    assert ", after" in page
