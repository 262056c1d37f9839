"""Without the companion: its fixtures and its suite say what to install; its runs are rendered."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from crowded import CONFTEST
from distributions import forget_what_is_installed
from pytest_t2i import read_run
from pytest_t2i.adapters import registry
from pytest_t2i.audits import discovery
from pytest_t2i.cli.main import main
from pytest_t2i.metrics import info

from pytest_t2i_crowds.quantities import METRICS

SUITES = Path(__file__).parents[3] / "suites"
SUITE = """
import pytest
from pytest_t2i import axes, limit

NURSES = axes.profession.only("nurse")

@pytest.mark.t2i(NURSES)
def test_people(FIXTURE):
    assert abs(FIXTURE.crowd_share_gap) <= limit("crowd_share_gap", 0.4)
"""
INSTALL = "Run: pip install pytest-t2i-crowds (in a clone: pip install ./plugins/pytest-t2i-crowds)"


@pytest.fixture
def absent(monkeypatch):
    """Take the companion away, as if it were not installed."""
    every = registry._installed
    groups = {group: every(group) for group in registry.GROUPS.values()}

    def others(group):
        points = groups[group].items()
        return {name: point for name, point in points if "crowds" not in point.value}

    def take_away():
        forget_what_is_installed()
        monkeypatch.setattr(registry, "_installed", others)
        for metric in METRICS:
            monkeypatch.delitem(info._KNOWN, metric.name, raising=False)

    yield take_away
    monkeypatch.undo()
    forget_what_is_installed()


@pytest.fixture
def studio(project):
    project.write({"conftest.py": CONFTEST})
    return project


def run(studio, *options):
    named = ("--t2i-detector", "stripes", "--t2i-images", "40")
    return studio.run(*named, *options, model="of-men")


def said(result):
    return " ".join((result.stdout.str() + result.stderr.str()).split())


@pytest.mark.parametrize("fixture", ["crowd", "crowds"])
def test_a_fixture_says_what_to_install(studio, absent, fixture):
    absent()
    studio.write({"test_suite.py": SUITE.replace("FIXTURE", fixture)})
    result = run(studio)
    assert f"test_suite.py::test_people: fixture {fixture!r} is not installed. {INSTALL}" in said(
        result
    )
    assert result.ret != 0
    assert studio.made() == []


OWN = """
import pytest
from pytest_t2i import axes

@pytest.fixture
def crowd():
    return 3

@pytest.mark.t2i(axes.profession.only("nurse"))
def test_own(crowd, samples):
    assert crowd == 3

@pytest.mark.t2i(axes.profession.only("nurse"))
@pytest.mark.parametrize("crowds", [4])
def test_given(crowds, samples):
    assert crowds == 4
"""


def test_a_fixture_of_the_project_and_a_parameter_may_have_its_name(studio, absent):
    absent()
    studio.write({"test_suite.py": OWN})
    run(studio).assert_outcomes(passed=2)


def test_the_suite_says_what_to_install(studio, absent, monkeypatch):
    absent()
    monkeypatch.setitem(sys.modules, "pytest_t2i_crowds.axes", None)
    shutil.copytree(SUITES / "crowds", studio.path / "crowds")
    result = run(studio, "crowds", "-rs")
    assert "pip install ./plugins/pytest-t2i-crowds" in said(result)
    assert studio.made() == []


def test_the_library_says_what_to_install(absent):
    absent()
    with pytest.raises(registry.UnknownNameError, match="pip install pytest-t2i-crowds"):
        discovery.chosen_audits("crowd")


def test_its_run_is_rendered_read_compared_and_exported(studio, absent, monkeypatch, capsys):
    studio.write({"test_suite.py": SUITE.replace("FIXTURE", "crowd")})
    assert run(studio).ret == pytest.ExitCode.TESTS_FAILED
    monkeypatch.chdir(studio.path)
    kept = json.loads(Path("reports/t2i/run.json").read_text())
    absent()
    record = read_run(Path("reports/t2i/run.json"))
    assert [row.subject for row in record.audits["crowd"].rows[:1]] == ["model"]
    assert [check.metric for check in record.checks] == ["crowd_share_gap"]
    assert main(["report", "reports/t2i/run.json", "again"]) == 0
    page = Path("again/index.html").read_text()
    assert "crowd share gap" in page
    assert "Men minus women among the people shown" in page
    assert "FAIL" in Path("again/summary.md").read_text()
    rendered = json.loads(Path("again/run.json").read_text())
    assert rendered["audits"]["crowd"] == kept["audits"]["crowd"]
    for ending in ("json", "images.jsonl"):
        shutil.copy(f"reports/t2i/run.{ending}", f"other.{ending}")
    assert main(["compare", "reports/t2i/run.json", "other.json"]) == 0
    assert main(["export", "card", "reports/t2i/run.json", "--output", "card.md"]) == 0
    assert "crowd" in Path("card.md").read_text() + capsys.readouterr().out
