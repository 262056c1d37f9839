"""A model that is calibrated for some prompts is judged by these alone."""

from __future__ import annotations

import pytest

CONFTEST = """
import fakes

class Nurses(fakes.FakeModel):
    def is_calibrated_for(self, prompt):
        return "nurse" in prompt or "pilot" in prompt

def pytest_t2i_models():
    return {"fair": fakes.fair, "nurses": lambda options: Nurses(1.0, "nurses")}

def pytest_t2i_detectors():
    return {"colour": fakes.detector}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot", "chef"))
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.5)

@pytest.mark.t2i(axes.profession.only("nurse", "chef"))
def test_mixed(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_known(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)

@pytest.mark.t2i(axes.profession.only("nurse", "chef"))
def test_grown(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""
TOLD = "nurses is not calibrated for 1 of 3 prompts (chef): checks that need them stay inconclusive"


@pytest.fixture
def suite(project):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    return project


def outcomes(project):
    """What each check came to, and the last words about it."""
    return {
        check["test"].partition("::")[2]: (check["outcome"], check["message"])
        for check in project.record()["checks"]
    }


def test_checks_of_unknown_prompts_stay_inconclusive(suite):
    result = suite.run("--t2i-images", "20", model="nurses")
    found = outcomes(suite)
    open_ones = {test for test, (outcome, _) in found.items() if outcome == "INCONCLUSIVE"}
    assert open_ones == {"test_prompt[profession-chef]", "test_mixed"}
    assert found["test_known"][0] == "FAIL"
    why = "the model is not calibrated for 1 of 2 prompts (chef)"
    assert found["test_mixed"][1] == why
    assert found["test_prompt[profession-chef]"][1].endswith("who is a chef'")
    result.stdout.fnmatch_lines([f"t2i: {TOLD}", f"next: {TOLD}. Take words that it knows*"])
    assert why in suite.page()


def test_a_comparison_with_a_baseline_stays_inconclusive_too(suite):
    record = ("--t2i-images", "20", "--t2i-save-baseline", "b.json")
    suite.run(*record, "-k", "mixed", model="nurses")
    suite.run("--t2i-images", "20", "--t2i-baseline", "b.json", "-k", "grown", model="nurses")
    outcome, why = outcomes(suite)["test_grown"]
    assert outcome == "INCONCLUSIVE"
    assert why == "the model is not calibrated for 1 of 2 prompts (chef)"


def test_a_model_that_says_nothing_takes_any_prompt(suite):
    result = suite.run("--t2i-images", "20", model="fair")
    assert "calibrated" not in result.stdout.str()
    assert not any("calibrated" in message for _, message in outcomes(suite).values())


@pytest.mark.slow
def test_workers_leave_them_open_too(suite):
    result = suite.run_apart("--t2i-images", "20", "-n", "2", model="nurses")
    assert outcomes(suite)["test_mixed"][0] == "INCONCLUSIVE"
    result.stdout.fnmatch_lines([f"next: {TOLD}*"])


def test_an_entry_of_a_catalogue_names_what_knows(suite):
    suite.write(
        {
            "known.py": "class Known:\n    def is_calibrated_for(self, prompt):\n"
            "        return 'nurse' in prompt\n",
            "own.toml": '[models.mine]\npath = "x"\nadapter = "fair"\ncalibrated = "known:Known"\n',
        }
    )
    result = suite.run("--t2i-images", "20", "--t2i-catalogue", "own.toml", model="mine")
    result.stdout.fnmatch_lines(["t2i: mine is not calibrated for 2 of 3 prompts (pilot, chef)*"])


def test_a_catalogue_that_names_something_else_is_refused(suite):
    suite.write(
        {
            "known.py": "def known():\n    return 1\n",
            "own.toml": '[models.mine]\npath = "x"\nadapter = "fair"\ncalibrated = "known:known"\n',
        }
    )
    result = suite.run("--t2i-catalogue", "own.toml", model="mine")
    told = result.stdout.str() + result.stderr.str()
    assert "is_calibrated_for(prompt) from 'known:known', got 1" in told
