"""Mistakes in tests and places that cannot be written are told before the first image."""

from __future__ import annotations

import os

import pytest

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples):
    {}
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            'assert samples.model_bias_score <= limit("model_bias_scor", .3)',
            "unknown limit 'model_bias_scor'. Did you mean 'model_bias_score'?",
        ),
        ('assert samples.model_bias_score <= limit("model_bias_score", 3)', "between 0 and 1"),
        ('assert samples.model_bias_score <= limit("model_bias_score", ".3")', "a number as limit"),
        (
            'assert samples.model_bias_score >= limit("model_bias_score", .3)',
            "model_bias_score, higher is worse: write `model_bias_score <= limit(",
        ),
        ('assert limit("model_bias_score", .3) <= samples.model_bias_score', "got >="),
        ('assert abs(samples.model_bias_score) > limit("model_bias_score", .3)', "got >"),
        ('assert samples.model_bias_score == limit("model_bias_score", .3)', "got =="),
        (
            'score = samples.model_bias_score; bound = limit("model_bias_score", .3)\n'
            "    assert score >= bound",
            "got >=",
        ),
        (
            'assert not samples.model_bias_score >= limit(name="model_bias_score", bound=.3)',
            "got >",
        ),
        (
            'assert samples.model_bias_score <= limit("prompt_bias_score", .3)',
            "which is a limit on prompt_bias_score",
        ),
        (
            'assert samples.model_bias_scor <= limit("model_bias_score", .3)',
            "unknown attribute of samples 'model_bias_scor'. Did you mean 'model_bias_score'?",
        ),
    ],
)
def test_a_comparison_that_cannot_be_made(project, line, words):
    project.write({"test_suite.py": SUITE.format(line), "limits.toml": ""})
    code, told = project.refused()
    assert code == pytest.ExitCode.USAGE_ERROR
    assert words in told
    assert project.made() == []


HELPERS = """
import pytest
from pytest_t2i import axes, limit

NAME = "model_bias_scor"

def within(samples):
    assert samples.model_bias_score <= limit(NAME, .3)

def through(samples):
    within(samples)

@pytest.fixture
def bound():
    return limit(NAME, .3)

def limited(name):
    return limit(name, .9)

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_model(samples, {}):
    {}
"""


@pytest.mark.parametrize(
    ("fixture", "line"),
    [
        ("request", "within(samples)"),
        ("request", "through(samples)"),
        ("bound", "assert samples.model_bias_score <= bound"),
        ("baseline", "assert samples.model_bias_score <= baseline(NAME)"),
    ],
)
def test_a_name_that_is_unknown_beyond_a_test(project, fixture, line):
    project.write({"test_suite.py": HELPERS.format(fixture, line), "limits.toml": ""})
    code, told = project.refused()
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "'model_bias_scor'. Did you mean 'model_bias_score'?" in told
    assert project.made() == []


def test_a_name_that_a_helper_is_given(project):
    suite = HELPERS.format(
        "request", "assert samples.model_bias_score <= limited('model_bias_score')"
    )
    project.write({"test_suite.py": suite, "limits.toml": ""})
    assert project.run("test_suite.py").ret in {0, 6}


@pytest.mark.parametrize(
    "line",
    [
        'assert limit("model_bias_score", .9) >= samples.model_bias_score',
        'assert abs(samples.model_bias_score) < limit("model_bias_score", .9)',
        'assert samples.model_bias_score <= limit("model_bias_score.strict", .9)',
        "assert samples.model_bias_score.paper >= 0",
        'it = 3; it = samples.model_bias_score; assert it <= limit("model_bias_score", .9)',
    ],
)
def test_one_that_can(project, line):
    project.write({"test_suite.py": SUITE.format(line), "limits.toml": ""})
    result = project.run("test_suite.py")
    assert result.ret in {0, 6}


@pytest.fixture
def unwritable(tmp_path):
    """A file where a folder is asked for: root may write everywhere else."""
    path = tmp_path / "taken"
    path.write_text("a file")
    return path


@pytest.mark.parametrize("option", ["--t2i-report", "--t2i-save-baseline", "--t2i-store"])
def test_a_place_that_cannot_be_written(project, unwritable, option):
    place = unwritable / "baseline.json" if "baseline" in option else unwritable
    code, told = project.refused(f"{option}={place}")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "taken" in told
    assert project.made() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("option", ["--t2i-report", "--t2i-save-baseline", "--t2i-store"])
def test_a_folder_of_somebody_else(project, tmp_path, option):
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o555)
    code, told = project.refused(f"{option}={folder / 'mine'}")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"Choose another folder with {option}." in told
    assert project.made() == []


def test_a_baseline_that_is_a_folder(project, tmp_path):
    code, told = project.refused(f"--t2i-save-baseline={tmp_path}")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "expected the name of a file, got a folder: correct --t2i-save-baseline." in told
    assert project.made() == []
    assert not (project.path / "reports").exists()
