"""What installing examples/companion leaves, and a job of CI that runs the steps of action.yml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import preloaded  # noqa: F401 - before the first run of pytest
import pytest
from distributions import forget_what_is_installed, installed, write_metadata

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
COMPANION = EXAMPLES / "companion"
STUB = """#!/usr/bin/env bash
case "$1 $2" in
"-m pytest")
    printf '%s\\n' "$@" > arguments
    mkdir -p "$REPORT"
    echo "## a summary" > "$REPORT/summary.md"
    exit "$STATUS" ;;
"-m pip") printf '%s\\n' "${@:5}" > packages ;;
"-c "*find_spec*) for name in $LACKS; do case "$2" in *"'$name'"*) exit 1 ;; esac; done ;;
*) exec "$REAL_PYTHON" "$@" ;;
esac
"""
"""Stands in for python: keeps what pytest and pip are given, lacks modules and ends as told."""
HUB = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> calls
case "$*" in
*graphql*) if [ -n "$ME" ]; then echo "$ME"; else exit 1; fi ;;
*--jq*) jq -r "${@: -1}" <<< "$COMMENTS" ;;
esac
"""
"""Stands in for gh: keeps its arguments, knows who asks, and which comments are there."""


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
        forget_what_is_installed()  # each run is a process of its own, to a reader
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
    packages: list[str]
    """Of pip."""


@pytest.fixture
def action():
    """The content of action.yml."""
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((REPOSITORY / "action.yml").read_text())


def shell(lines, folder, variables):
    """Runs the lines of a step as GitHub does."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", lines],
        cwd=folder, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def job(action, tmp_path):
    """Runs the shell steps of action.yml as a job does, with a stub for python."""
    (tmp_path / "bin").mkdir()
    for name, stub in (("python", STUB), ("gh", HUB)):
        (tmp_path / "bin" / name).write_text(stub)
        (tmp_path / "bin" / name).chmod(0o755)
    defaults = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()}

    def run(status=0, comments=(), me="ci[bot]", lacks="", **inputs):
        told = {name.upper(): value for name, value in {**defaults, **inputs}.items()}
        told |= {"STATUS": str(status), "GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "page"}
        told |= {"GITHUB_REPOSITORY": "owner/name", "NUMBER": "7", "GITHUB_ACTION_PATH": "/action"}
        told |= {"COMMENTS": json.dumps(comments), "ME": me, "LACKS": lacks}
        told["REAL_PYTHON"] = sys.executable
        told["PATH"] = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
        ended, said = 0, ""
        for step in action["runs"]["steps"]:
            condition = step.get("if", "")
            if "run" not in step or ("comment" in condition and "comment" not in inputs):
                continue
            if ended and "always()" not in condition:
                continue
            done = shell(step["run"], tmp_path, told)
            ended, said = ended or done.returncode, said + done.stdout
        left = {
            name: file.read_text() if (file := tmp_path / name).exists() else ""
            for name in ("arguments", "output", "page", "calls", "packages")
        }
        arguments, calls, packages = (
            left[name].splitlines() for name in ("arguments", "calls", "packages")
        )
        return Job(ended, said, arguments, left["output"], left["page"], calls, packages)

    return run
