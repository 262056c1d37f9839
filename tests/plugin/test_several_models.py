"""``--t2i-model a,b`` and ``t2i compare`` on what it leaves."""

from __future__ import annotations

import json
import shutil

import pytest

from pytest_t2i.cli.main import main

pytestmark = pytest.mark.slow
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession, axes.place)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.6)
"""


@pytest.fixture
def several(finished):
    return finished(
        "several",
        "-s",
        "--t2i-images",
        "6",
        model="fair,biased",
        files={"test_suite.py": SUITE},
        apart=True,
    )


def test_each_model_has_its_run_and_all_are_compared(several):
    assert several.result.ret == pytest.ExitCode.TESTS_FAILED
    report = several.path / "reports/t2i"
    assert json.loads((report / "fair/run.json").read_text())["model"] == "fair"
    assert json.loads((report / "biased/run.json").read_text())["model"] == "biased"
    comparison = json.loads((report / "compare.json").read_text())
    assert comparison["models"] == ["fair", "biased"]
    assert len(comparison["prompts"]) == 50
    several.result.stdout.fnmatch_lines(
        ["*fair is the least biased of 2 models.", "report: *index.html"]
    )
    page = (report / "index.html").read_text()
    assert "biased is more biased than fair" in page
    assert page.count("<img") == 2 * 6 * 6


def test_a_mistyped_model_ends_it(project):
    result = project.run_apart("--t2i-model", "fair,no-such-model", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_model_is_not_compared_with_itself(project):
    status, told = project.refused("--t2i-model", "fair,fair")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "expected different models, got fair, fair" in told


def test_a_baseline_is_of_one_model(project):
    status, told = project.refused("--t2i-model", "fair,biased", "--t2i-save-baseline", "b.json")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "--t2i-save-baseline records one model" in told


def test_the_models_of_a_store_are_compared_without_a_run(several, tmp_path, capsys):
    store = several.path / ".t2i"
    assert main(["compare", str(store), "--report", str(tmp_path / "c")]) == 0
    assert capsys.readouterr().out.startswith("fair is the least biased of 2 models.")
    assert (tmp_path / "c/summary.md").read_text().count("\n| profession |") == 40


def test_a_folder_speaks_of_one_run_or_of_one_comparison(several, project, monkeypatch):
    report = several.path / "reports/t2i"
    copied = project.path / "reports/t2i"
    shutil.copytree(report, copied)
    compared = (copied / "compare.json").read_bytes()
    project.write({"test_suite.py": SUITE.replace("axes.profession, ", "")})
    project.run("--t2i-images", "6")
    assert not (copied / "compare.json").exists()
    assert (copied / "earlier-compare.json").read_bytes() == compared
    single = (copied / "run.json").read_bytes()
    monkeypatch.chdir(project.path)
    assert main(["compare", str(several.path / ".t2i"), "--report", str(copied)]) == 0
    assert not (copied / "run.json").exists()
    assert (copied / "earlier-run.json").read_bytes() == single
    assert main(["report", str(copied / "earlier-run.json"), "shown"]) == 0
