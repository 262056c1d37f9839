"""Shares of labels against a reference: by option, by ini key, with verdicts of their own."""

from __future__ import annotations

import pytest
from caveats import facts_of

SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")
MANY = axes.profession.only(*axes.profession.concepts[:12])

@pytest.mark.t2i(PEOPLE)
def test_prompt(sample, reference):
    assert sample.total_variation_distance(reference) <= limit("total_variation_distance", 0.25)

@pytest.mark.t2i(MANY)
def test_model(samples, reference):
    assert samples.total_variation_distance(reference) <= limit("total_variation_distance", 0.2)

@pytest.mark.t2i(PEOPLE)
def test_even_is_half_the_bias_score(samples, reference):
    if reference.name == "uniform":
        half = samples.total_variation_distance(reference).interval
        whole = samples.model_bias_score.interval
        assert (2 * half.low, 2 * half.high) == (whole.low, whole.high)
"""
MEN = """
source = "a made-up table"
[default]
male = 0.95
female = 0.05
"""


EVEN = ("--t2i-reference", "uniform")


@pytest.fixture
def referred(project):
    (project.path / "test_suite.py").write_text(SUITE)
    (project.path / "men.toml").write_text(MEN)
    return project


def outcomes(project):
    return {check["subject"]: check["outcome"] for check in project.record()["checks"]}


@pytest.mark.slow
def test_a_model_of_men_is_far_from_even_shares_and_near_to_its_own(referred):
    result = referred.run("--t2i-images", "30", *EVEN, model="biased")
    result.assert_outcomes(failed=5, passed=1)
    result.stdout.fnmatch_lines(["*shares: male * % (50 % expected), female * % (50 % expected)*"])
    result.stdout.fnmatch_lines(["*expected by: even shares*"])
    assert set(outcomes(referred).values()) == {"FAIL"}

    result = referred.run("--t2i-images", "30", "--t2i-reference", "men.toml", model="biased")
    result.assert_outcomes(passed=6)
    assert "FAIL" not in outcomes(referred).values()
    assert outcomes(referred)["profession-nurse"] == "PASS"
    assert referred.record()["settings"]["reference"] == "men.toml"


@pytest.mark.slow
def test_a_fair_model_is_far_from_a_reference_of_men(referred):
    result = referred.run("--t2i-images", "30", "--t2i-reference", "men.toml")
    assert outcomes(referred)["model"] == "FAIL"
    result.stdout.fnmatch_lines(["*not corrected for few images: 0.4* (a model that follows the*"])
    result.stdout.fnmatch_lines(["*furthest: *: male * % (95 % expected)*"])
    result.stdout.fnmatch_lines(["*expected by: a made-up table*"])


@pytest.mark.slow
def test_an_ini_key_is_relative_to_the_ini_file(referred):
    (referred.path / "pytest.ini").write_text("[pytest]\nt2i_reference = men.toml\n")
    referred.run("--t2i-images", "4", model="biased")
    assert referred.record()["settings"]["reference"].endswith("men.toml")


def test_no_evidence_is_inconclusive_and_the_undetected_are_bounded(referred):
    (referred.path / "conftest.py").write_text(
        (referred.path / "conftest.py").read_text()
        + "\nfakes.BLUE = fakes.RED = fakes.GREY  # nobody is in any picture\n"
    )
    result = referred.run("--t2i-images", "4", *EVEN)
    assert result.parseoutcomes() == {"inconclusive": 5, "failed": 1}
    assert set(outcomes(referred).values()) == {"INCONCLUSIVE"}
    assert "has a label" in referred.record()["checks"][0]["message"]


@pytest.mark.slow
def test_worst_case_is_shown(referred):
    referred.run("--t2i-detector", "hazy", "--t2i-images", "10", *EVEN)
    checks = referred.record()["checks"]
    cases = [facts_of(check, "undetected") for check in checks]
    assert all(0 <= case["low"] <= case["high"] <= 1 for case in cases)


def test_without_a_reference_its_tests_are_skipped(referred):
    result = referred.run("--t2i-images", "4", "-rs")
    result.assert_outcomes(skipped=6)
    result.stdout.fnmatch_lines(["*no reference given; run with --t2i-reference uniform*"])
