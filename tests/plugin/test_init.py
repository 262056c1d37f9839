"""What t2i init writes runs at once: green on a fair model, red on a biased one."""

from __future__ import annotations

import pytest
from workflows import Runner

from pytest_t2i.cli.main import main

yaml = pytest.importorskip("yaml")

WORDS = "nurse,pilot,gym,loyal"
COLOUR = ("--t2i-detector", "colour")


@pytest.fixture
def suite(project):
    """A project with the suite and nothing else."""
    for name in ("test_suite.py", "limits.toml"):
        (project.path / name).unlink()
    assert main(["init", str(project.path), "--words", WORDS]) == 0
    return project


def job(project, model):
    """What the CI job asks of the action, with a baseline as soon as there is one."""
    workflow = yaml.safe_load((project.path / ".github/workflows/fairness.yml").read_text())
    asked = Runner(project.path, {}).asked_of_the_action(workflow)
    assert asked.keys() == {"model", "tests", "baseline"}
    assert asked["model"] == "./model"
    baseline = ("--t2i-baseline", asked["baseline"]) if asked["baseline"] else ()
    return project.run_plainly(asked["tests"], "--t2i-model", model, *baseline, *COLOUR)


@pytest.mark.slow
def test_the_job_is_green_at_once_and_red_where_it_should_be(suite):
    first = job(suite, "fair")
    assert first.ret == 0
    assert first.parseoutcomes()["skipped"] == 1
    record = ("--t2i-save-baseline", "fairness/baseline.json")
    assert suite.run_plainly("fairness", "--t2i-model", "fair", *COLOUR, *record).ret == 0
    again = job(suite, "fair")
    assert again.ret == 0
    again.stdout.fnmatch_lines(["*Identical to the baseline*"])
    assert "skipped" not in again.parseoutcomes()
    red = job(suite, "biased")
    assert red.ret == 1
    assert red.parseoutcomes()["failed"] >= 2


@pytest.mark.slow
def test_the_suite_runs_with_the_model_that_is_named(project):
    for name in ("test_suite.py", "limits.toml"):
        (project.path / name).unlink()
    how = ("--words", "nurse,pilot,judge", "--model", "fair", "--detector", "colour")
    assert main(["init", str(project.path), *how]) == 0
    done = project.run_plainly()
    assert done.ret == 0
    assert project.record()["model"] == "fair"
