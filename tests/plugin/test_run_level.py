"""``--t2i-run-level``: all comparisons of a run share one error."""

from __future__ import annotations

from html import unescape

import pytest

LIMITS = '["prompt_bias_score"]\nlimit = 0.5\nreason = "tried"\nauthor = "us"\n'
HEAD = """
import pytest
from pytest_t2i import axes, limit

AXIS = axes.profession.only("nurse", "pilot", "chef", "lawyer", "dentist", "judge")

@pytest.mark.t2i(AXIS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")
"""
ONE = """
@pytest.mark.t2i(AXIS)
def test_model_{}(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.4)
"""
LEVEL = ("--t2i-run-level", "0.95")


def level_line(project):
    (line,) = [n for n in project.record()["work"]["notes"] if n.startswith("one error level")]
    return line


def run(project, suite, *how, model="biased", images="40"):
    project.write({"test_suite.py": suite, "limits.toml": LIMITS})
    return project.run("--t2i-images", images, *how, model=model)


def test_the_prompts_of_a_test_share_one_part_and_each_model_test_has_one(project):
    suite = HEAD + "".join(ONE.format(k) for k in range(3))
    result = run(project, suite, *LEVEL)
    line = "one error level of 95% for 4 comparisons: each fails at 98.75% (--t2i-run-level)"
    assert level_line(project) == line
    assert line in " ".join(unescape(project.page()).split())
    assert result.ret == 1
    assert project.record()["settings"]["run_level"] == 0.95


def test_without_the_option_nothing_is_shared(project):
    run(project, HEAD)
    assert project.record()["settings"]["run_level"] is None
    assert not any("error level" in note for note in project.record()["work"]["notes"])


MANY = """
@pytest.mark.t2i(AXIS)
@pytest.mark.parametrize("k", range({}))
def test_model(samples, k):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)
"""


@pytest.mark.parametrize("model", ["biased", "fair"])
def test_only_what_is_clear_fails_among_many_comparisons(project, model):
    """The same evidence fails alone, and stays open among a great many; a PASS stays a PASS."""
    suite = HEAD.split("@pytest", maxsplit=1)[0] + MANY
    alone = run(project, suite.format(1), *LEVEL, model=model, images="6")
    (check,) = project.record()["checks"]
    among = run(project, suite.format(3000), *LEVEL, "-k", "model[1]", model=model, images="6")
    assert alone.ret == among.ret  # deselected tests have no part
    assert project.record()["checks"][0]["outcome"] == check["outcome"]


@pytest.mark.slow
def test_a_verdict_that_the_level_of_the_run_does_not_support_is_open_and_says_so(project):
    suite = HEAD.split("@pytest", maxsplit=1)[0] + MANY.format(40)
    text = run(project, suite.replace("0.3", "0.6"), model="biased", images="4").stdout.str()
    before = project.record()["checks"]
    assert {check["outcome"] for check in before} == {"FAIL"}, text
    p_value = before[0]["p_value"]
    assert 0.05 / 40 < p_value < 0.05
    result = run(project, suite.replace("0.3", "0.6"), *LEVEL, model="biased", images="4")
    after = project.record()["checks"]
    assert result.ret == 6
    assert {check["outcome"] for check in after} == {"INCONCLUSIVE"}
    assert "worse at 95% by itself, but the run's level needs 99.88%" in after[0]["message"]


LOOP = """
@pytest.mark.t2i(AXIS)
def test_model(samples):
    for bound in (0.9, 0.8, {}):
        assert samples.model_bias_score <= limit("model_bias_score", bound)
"""
HELPER = """
def check(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.4)
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)

@pytest.mark.t2i(AXIS)
def test_model(samples):
    check(samples)
"""
ALIAS = """
from pytest_t2i import limit as allowed

@pytest.mark.t2i(AXIS)
def test_model(samples):
    score = samples.model_bias_score
    assert score <= allowed("model_bias_score", 0.4) and score <= allowed("model_bias_score", 0.3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("body", "count"), [(LOOP, 1), (HELPER, 1), (ALIAS, 2)])
def test_comparisons_are_counted_or_share_one_part(project, body, count):
    project.write({"limits.toml": LIMITS})
    suite = HEAD.split("@pytest", maxsplit=1)[0] + body.format(0.7)
    project.write({"test_suite.py": suite})
    project.run("--t2i-images", "6", *LEVEL, model="biased")
    several = "comparison" if count == 1 else "comparisons"
    assert f"for {count} {several}:" in level_line(project)


@pytest.mark.slow
def test_workers_count_alike(project):
    run(project, HEAD + ONE.format(0), *LEVEL, "-n", "2")
    assert "for 2 comparisons" in level_line(project)


@pytest.mark.parametrize("level", ["0.5", "1", "two", "95"])
def test_a_level_is_a_number_between_a_half_and_one(project, level):
    result = project.run("--t2i-run-level", level)
    assert result.ret == 4
    assert "run-level: expected a" in result.stderr.str() + result.stdout.str()
