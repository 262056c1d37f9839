"""What installing examples/companion leaves, and a job of CI that runs the steps of action.yml."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from distributions import installed, write_metadata

# Compiled modules load once per process: they must be there before pytester takes the snapshot
# of modules that it goes back to. The others need not be loaded again for every run.
PRELOADED = [
    import_module(name)
    for name in (
        "numpy", "PIL.ImageDraw", "pytest_t2i.plugin.run", "pytest_t2i.reporting.html",
        "rich.progress", "scipy.stats", "scipy.optimize", "skimage.metrics",
    )
]  # fmt: skip
REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
COMPANION = EXAMPLES / "companion"
STUB = """#!/usr/bin/env bash
printf '%s\\n' "$@" > arguments
mkdir -p "$REPORT"
echo "## a summary" > "$REPORT/summary.md"
exit "$STATUS"
"""
"""Stands in for python: keeps its arguments, and ends as it is told to."""
HUB = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> calls
case "$*" in *--jq*) printf '%s' "$OURS";; esac
"""
"""Stands in for gh: keeps its arguments, and tells of the comment that is there."""


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder for sys.path with the companion's code and its entry points."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(COMPANION / "src" / "t2i_painted", folder / "t2i_painted")
    project = tomllib.loads((COMPANION / "pyproject.toml").read_text())["project"]
    write_metadata(folder, project["name"], project["version"], project["entry-points"])
    return folder


@pytest.fixture
def companion(built, monkeypatch):
    """The companion, installed."""
    yield from installed(built, monkeypatch)


@pytest.fixture
def example(pytester, companion):
    """Runs pytest in a copy of an example, with the companion installed."""

    def run(name, *arguments):
        if not (pytester.path / "pyproject.toml").exists():
            shutil.copytree(EXAMPLES / name, pytester.path, dirs_exist_ok=True)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)

    return run


class Job(NamedTuple):
    """What a job of CI left behind."""

    status: int
    told: str
    arguments: list[str]
    """Of python."""
    output: str
    summary: str
    calls: list[str]
    """Of gh."""


@pytest.fixture
def action():
    """The content of action.yml."""
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((REPOSITORY / "action.yml").read_text())


@pytest.fixture
def job(action, tmp_path):
    """Runs the shell steps of action.yml as a job does, with a stub for python."""
    (tmp_path / "bin").mkdir()
    for name, stub in (("python", STUB), ("gh", HUB)):
        (tmp_path / "bin" / name).write_text(stub)
        (tmp_path / "bin" / name).chmod(0o755)
    defaults = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()}

    def run(status=0, ours="", **inputs):
        told = {name.upper(): value for name, value in {**defaults, **inputs}.items()}
        told |= {"STATUS": str(status), "GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "page"}
        told |= {"GITHUB_REPOSITORY": "owner/name", "NUMBER": "7", "OURS": ours}
        told["PATH"] = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
        done = [
            subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=tmp_path, env=told, capture_output=True, text=True, check=False,
            )
            for step in action["runs"]["steps"]
            if "run" in step and ("comment" not in step.get("if", "") or "comment" in inputs)
        ]  # fmt: skip
        texts = [(tmp_path / name).read_text() for name in ("arguments", "output", "page")]
        calls = tmp_path / "calls"
        known = calls.read_text().splitlines() if calls.exists() else []
        return Job(done[0].returncode, done[0].stdout, texts[0].splitlines(), *texts[1:], known)

    return run
