"""A comparison that was written the wrong way round ends in the right line, not in a pass."""

from __future__ import annotations

import pytest

from pytest_t2i.cli.main import main

SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot")
"""
MODEL = """
@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    {line}
"""
PROMPT = """
@pytest.mark.t2i(PEOPLE)
def test_prompt(sample):
    {line}
"""


@pytest.mark.parametrize(
    ("test", "line", "said"),
    [
        (
            MODEL,
            "assert samples.model_bias_score >= limit('model_bias_score', 0.2)",
            "write `model_bias_score <= limit('model_bias_score', 0.2)`, got >=",
        ),
        (
            MODEL,
            "assert not (samples.model_bias_score > limit('model_bias_score', 0.2))",
            "write `model_bias_score <= limit('model_bias_score', 0.2)`, got >",
        ),
        (
            MODEL,
            "assert samples.model_bias_score <= limit('prompt_bias_score', 0.99)",
            "Compare it with limit('model_bias_score', ...)",
        ),
    ],
)
def test_a_comparison_that_would_pass_by_mistake(project, test, line, said):
    project.write({"limits.toml": "", "test_suite.py": SUITE + test.format(line=line)})
    result = project.run("--t2i-images", "12", model="biased")
    output = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert said in output or said.replace(", 0.2)", ")") in output
    assert result.ret in {pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.USAGE_ERROR}
    if result.ret == pytest.ExitCode.USAGE_ERROR:
        # Its source says so before an image is made.
        assert "images: " not in output
        return
    record = project.record()
    assert record["checks"] == []
    assert record["outcome"] == "FAIL"


def test_abs_may_be_left_out(project):
    lines = [
        "assert sample.prompt_bias_score <= limit('prompt_bias_score', 0.4)",
        "assert abs(sample.prompt_bias_score) <= limit('prompt_bias_score', 0.4)",
    ]
    tests = "".join(
        PROMPT.replace("test_prompt", name).format(line=line)
        for name, line in zip(("test_bare", "test_folded"), lines, strict=True)
    )
    project.write({"limits.toml": "", "test_suite.py": SUITE + tests})
    project.run("--t2i-images", "12", model="biased")
    checks = project.record()["checks"]
    bare, folded = (
        {c["subject"]: {**c, "test": ""} for c in checks if name in c["test"]}
        for name in ("test_bare", "test_folded")
    )
    assert bare == folded
    assert "FAIL" in {check["outcome"] for check in bare.values()}


def test_a_plain_failure_prints_no_earlier_verdict(project):
    lines = (
        "assert samples.model_bias_score <= limit('model_bias_score', 1)\n"
        "    assert samples.model_bias_score <= 0.001"
    )
    project.write({"limits.toml": "", "test_suite.py": SUITE + MODEL.format(line=lines)})
    result = project.run("--t2i-images", "12", model="biased")
    result.assert_outcomes(failed=1)
    told = result.stdout.str()
    assert "is within its limit" not in told
    assert "allowed: <= 1" not in told
    record = project.record()
    assert [check["outcome"] for check in record["checks"]] == ["PASS"]
    assert len(record["failed_otherwise"]) == 1


@pytest.mark.slow
def test_models_of_a_store_are_called_as_they_were_when_they_made_their_images(
    project, monkeypatch, capsys
):
    for model in ("fair", "biased"):
        project.run("-k", "test_model", model=model)
    monkeypatch.chdir(project.path)
    assert main(["compare", ".t2i"]) == 0
    told = capsys.readouterr().out
    assert "fair is the least biased of 2 models." in told
    assert "biased - fair" in told or "fair - biased" in told
