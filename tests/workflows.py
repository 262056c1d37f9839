"""Runs the steps of a workflow on this machine as a runner would, our own action's among them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
OURS = "pytest-t2i/pytest-t2i@"
OTHERS = (
    "actions/checkout@",
    "actions/setup-python@",
    "actions/cache@",
    "actions/upload-artifact@",
)
"""Actions of others, of which nothing is left to do here."""
FILE_IF_THERE = re.compile(r"\$\{\{ hashFiles\('(.+)'\) != '' && '(.+)' \|\| '' \}\}")
EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")


class Runner:
    """A machine that a job runs on, in a folder."""

    def __init__(self, folder: Path, action: dict[str, Any]) -> None:
        self.folder, self.action = folder, action
        self.told = ""

    def run(self, workflow: dict[str, Any]) -> int:
        """The exit status of a workflow's one job."""
        (job,) = workflow["jobs"].values()
        return self._steps(job["steps"], {"github.run_id": "1"})

    def asked_of_the_action(self, workflow: dict[str, Any]) -> dict[str, str]:
        """The inputs that a workflow's one job gives our action, worked out."""
        (job,) = workflow["jobs"].values()
        (ours,) = (step for step in job["steps"] if step.get("uses", "").startswith(OURS))
        return {name: self._value(text, {}) for name, text in ours["with"].items()}

    def _steps(self, steps: list[dict[str, Any]], values: dict[str, str]) -> int:
        status = 0
        for step in steps:
            if status and "always()" not in step.get("if", ""):
                continue
            if "comment" in step.get("if", ""):  # no pull request here
                continue
            if "inputs.explain" in step.get("if", "") and not values.get("inputs.explain"):
                continue
            ended = self._step(step, values)
            status = status or ended
        return status

    def _step(self, step: dict[str, Any], values: dict[str, str]) -> int:
        if "run" in step:
            given = {name: self._value(text, values) for name, text in step.get("env", {}).items()}
            return self.shell(self._value(step["run"], values), given)
        if not step["uses"].startswith(OURS):
            assert step["uses"].startswith(OTHERS), step["uses"]
            return 0
        inputs = {
            name: str(entry.get("default", "")) for name, entry in self.action["inputs"].items()
        }
        asked = {name: self._value(text, values) for name, text in step["with"].items()}
        assert set(asked) <= set(inputs)
        named = {f"inputs.{name}": text for name, text in (inputs | asked).items()}
        return self._steps(self.action["runs"]["steps"], named)

    def _value(self, text: str, values: dict[str, str]) -> str:
        """A text with its expressions worked out."""
        if match := FILE_IF_THERE.fullmatch(text):
            return match[2] if (self.folder / match[1]).exists() else ""
        return EXPRESSION.sub(lambda match: values[match[1]], text)

    def shell(self, lines: str, given: dict[str, str]) -> int:
        """Run lines of bash with these variables; their exit status."""
        own = self.folder / "bin"
        own.mkdir(exist_ok=True)
        for name in ("python", "pytest", "pip"):
            (own / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
            (own / name).chmod(0o755)
        (own / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        environment = {
            **os.environ,
            **given,
            "PATH": os.pathsep.join([str(own), os.environ["PATH"]]),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "page"),
            "GITHUB_ACTION_PATH": str(REPOSITORY),
        }
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", lines],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.told += done.stdout + done.stderr
        return done.returncode
