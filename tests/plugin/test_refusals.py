"""Refusals in a whole run: counted by variant, shown with the provider's words, judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[2] / "suites"
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_all(refusals):
    assert refusals.refusal_gap <= limit("refusal_gap", 0.05)

@pytest.mark.t2i(PEOPLE)
def test_each(refusal):
    assert refusal.refusal_gap <= limit("refusal_gap", 0.3)
"""


def said(result):
    return " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.fixture
def refusing(project):
    """A project that asks who is refused."""
    project.write({"test_suite.py": SUITE})
    return project


def test_women_refused_at_one_word_are_found_and_named(refusing):
    result = refusing.run("--t2i-images", "20", model="refuser:nurse")
    checks = {check["subject"]: check for check in refusing.record()["checks"]}
    assert checks["model"]["outcome"] == "FAIL"
    assert checks["model"]["estimate"] == pytest.approx(0.25)
    assert checks["profession-nurse"]["outcome"] == "FAIL"
    assert {c["outcome"] for name, c in checks.items() if "pilot" in name} == {"PASS"}
    rows = refusing.rows("refusals", "refusal_gap")
    assert rows[0]["counts"] == {"images": 80, "neutral": 0, "feminine": 20, "masculine": 0}
    assert rows[0]["facts"] == {"said_most_often": "policy <i>7</i>: no nurse"}
    assert [row["dims"]["arms"] for row in rows] == [
        "feminine minus masculine", "feminine minus neutral", "masculine minus neutral",
    ]  # fmt: skip
    page = refusing.page()
    assert "policy &lt;i&gt;7&lt;/i&gt;: no nurse" in page
    assert "<i>7</i>" not in page
    told = said(result)
    assert "refused of 80 images each: neutral 0, feminine 20, masculine 0" in told
    assert "feminine prompts more often" in told
    assert "read what the provider says of refused prompts" in told


def test_a_model_that_refuses_nobody_passes(refusing):
    result = refusing.run("--t2i-images", "25", model="refuser:none")
    assert result.ret == 0
    assert "neutral 0, feminine 0, masculine 0" in said(result)
    assert "No image of any triplet was refused." in refusing.page()


def test_a_model_that_refuses_all_alike_is_not_failed(refusing):
    refusing.run("--t2i-images", "25", model="refuser:all")
    assert "FAIL" not in {check["outcome"] for check in refusing.record()["checks"]}
    counts = refusing.rows("refusals", "refusal_gap")[0]["counts"]
    assert sum(counts.values()) - counts["images"] > 50


def test_four_images_decide_nothing_of_a_prompt(refusing):
    refusing.run("--t2i-images", "4", model="refuser:none")
    outcomes = {c["outcome"] for c in refusing.record()["checks"] if not c["is_of_model"]}
    assert outcomes == {"INCONCLUSIVE"}


def test_a_triplet_with_more_images_weighs_no_more(refusing):
    suite = SUITE.replace("@pytest.mark.t2i(PEOPLE)\ndef test_all", ALL)
    suite = suite.replace("(PEOPLE)", '(PEOPLE.only("nurse", "pilot"))')
    refusing.write({"test_suite.py": suite})
    refusing.run("--t2i-images", "20", model="refuser:nurse")
    row, *_ = refusing.rows("refusals", "refusal_gap")
    assert (row["counts"]["images"], row["counts"]["feminine"]) == (16, 4)
    (check,) = (c for c in refusing.record()["checks"] if c["is_of_model"])
    assert row["value"]["estimate"] == check["estimate"] == 0.25
    each = refusing.rows("refusals", "refusal_gap", "triplet")
    images = {one["facts"]["name"]: one["counts"]["images"] for one in each}
    assert images == {"nurse": 20, "pilot": 20, "chef": 4, "judge": 4}


ALL = """@pytest.mark.t2i(PEOPLE, images=4)
def test_all"""


@pytest.mark.slow
def test_workers_say_the_same(refusing):
    refusing.write({"conftest.py": (refusing.path / "conftest.py").read_text()})
    refusing.run_apart("--t2i-images", "20", "-n", "2", model="refuser:nurse")
    checks = {c["subject"]: c["outcome"] for c in refusing.record()["checks"]}
    assert checks["model"] == checks["profession-nurse"] == "FAIL"
    assert refusing.rows("refusals", "refusal_gap")[0]["counts"]["feminine"] == 20


@pytest.mark.slow
def test_the_shipped_suite_makes_no_image_more_than_neutrality(project):
    for suite in ("refusals", "neutrality"):
        shutil.copytree(SHIPPED / suite, project.path / suite)
    shutil.copy(SHIPPED / "limits.toml", project.path)
    (project.path / "test_suite.py").unlink()
    given = ("--t2i-images", "4", "-q")
    project.run(*given, "neutrality", model="fair")
    made = len(project.made())
    result = project.run(*given, "refusals", model="fair")
    assert len(project.made()) == made
    result.assert_outcomes(passed=3)
