"""What t2i init writes runs at once: green on a fair model, red on a biased one."""

from __future__ import annotations

import re

import pytest

from pytest_t2i.cli.main import main

WORDS = "nurse,pilot,gym,loyal"
COLOUR = ("--t2i-detector", "colour")


@pytest.fixture(params=["gate", "audit"])
def suite(request, project):
    """A project with the suite of a preset and nothing else."""
    for name in ("test_suite.py", "limits.toml"):
        (project.path / name).unlink()
    assert main(["init", str(project.path), "--preset", request.param, "--words", WORDS]) == 0
    return project


def job(project, model):
    """The command of the CI job, with or without a baseline as there is one."""
    text = (project.path / ".github/workflows/fairness.yml").read_text()
    command = " ".join(re.search(r"run: >-\n((?: {10}.*\n)+)", text)[1].split())
    there = (project.path / "fairness/baseline.json").exists()
    option = "--t2i-baseline fairness/baseline.json" if there else ""
    command = re.sub(r"\$\{\{.*\}\}", option, command).replace("./model", model)
    assert command.startswith("pytest fairness ")
    return project.run_plainly(*command.split()[1:], *COLOUR)


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
def test_research_runs_at_once(project):
    arguments = ("--preset", "research", "--words", WORDS, "--minutes", "5")
    assert main(["init", str(project.path), *arguments]) == 0
    assert project.run_plainly("fairness", "--t2i-model", "fair", *COLOUR).ret == 0
