"""What ``t2i init`` writes for CI is run as it is."""

from __future__ import annotations

import json

import pytest
from workflows import Runner

from pytest_t2i.cli.main import main

yaml = pytest.importorskip("yaml")
pytest.importorskip("pytest_t2i_reference")

WORDS = [
    "--words",
    "nurse,pilot,teacher",
    "--template",
    "a photo of one real person who is {a word}",
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that ``t2i init`` wrote a suite into, for the reference model."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--model", "reference", *WORDS]) == 0
    return tmp_path


@pytest.mark.slow
def test_the_generated_job_runs_and_compares_once_there_is_a_baseline(project, action):
    workflow = yaml.safe_load((project / ".github/workflows/fairness.yml").read_text())
    first = Runner(project, action)
    # 6: thirty images need not decide.
    assert first.run(workflow) in (0, 6), first.told
    record = json.loads((project / "reports/t2i/run.json").read_text())
    assert record["model"] == "reference"
    assert record["baseline"] is None
    assert record["prompts"]
    assert (project / "page").read_text() == (project / "reports/t2i/summary.md").read_text()

    saved = ["-m", "pytest", "fairness", "--t2i-model", "reference", "--t2i-save-baseline"]
    Runner(project, action).shell(f"python {' '.join(saved)} fairness/baseline.json || true", {})
    again = Runner(project, action)
    assert again.run(workflow) in (0, 6), again.told
    record = json.loads((project / "reports/t2i/run.json").read_text())
    assert record["baseline"] is not None
