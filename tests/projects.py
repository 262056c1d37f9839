"""A small project with a fake model: what a user's folder looks like to the plugin.

``project`` is a fresh one, to run pytest in. ``finished`` hands out projects in which it has run
already: each is made when a test asks for it first, and only read from then on.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import preloaded  # noqa: F401 - before the first run of pytest
import pytest
from plain_runs import plain_run
from processes import Child, ended
from project_files import FAKES, FILES
from small_project import forget_projects, run_pytest


class Folder:
    """A project's folder, and what running pytest in it left behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "made.log"

    def made(self) -> list[str]:
        """Every image made so far: "seed prompt"."""
        if not self.log.exists():
            return []
        return [line.split(" ", 1)[1] for line in self.log.read_text().splitlines()]

    def record(self) -> dict[str, Any]:
        """The last run.json, with its images."""
        return plain_run(self.path / "reports/t2i/run.json")

    def part(self, audit: str) -> dict[str, Any]:
        """What an audit keeps in the last run.json."""
        part: dict[str, Any] = self.record()["audits"][audit]["record"]
        return part

    def rows(self, audit: str, metric: str, about: str = "model") -> list[dict[str, Any]]:
        """The rows of an audit in the last run.json."""
        rows = self.record()["audits"][audit]["rows"]
        return [row for row in rows if (row["metric"], row["about"]) == (metric, about)]

    def page(self) -> str:
        """The last index.html."""
        return (self.path / "reports/t2i/index.html").read_text()

    def write(self, files: Mapping[str, str]) -> None:
        """Write files of the project, over those that are there."""
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)


class Finished(Folder):
    """A project in which pytest has run; many tests read it, none changes it."""

    def __init__(self, path: Path, result: pytest.RunResult) -> None:
        super().__init__(path)
        self.result = result


class Project(Folder):
    """A project of one test."""

    def __init__(self, path: Path, pytester: pytest.Pytester, patch: pytest.MonkeyPatch) -> None:
        super().__init__(path)
        self.pytester, self.monkeypatch = pytester, patch
        self.columns = 240
        """Of the terminal: lines are whole, unless a test is about them."""
        shutil.copy(FAKES, self.path / "fakes.py")
        self.write(FILES)

    def take(self, finished: Finished) -> pytest.RunResult:
        """Go on where a finished project ended; returns what its run said."""
        shutil.copytree(finished.path, self.path, dirs_exist_ok=True)
        return finished.result

    def run(self, *arguments: str, model: str | None = "fair") -> pytest.RunResult:
        """Run pytest in this process."""
        return self.run_plainly(*_named(arguments, model), *arguments)

    def run_plainly(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process with these arguments and no others."""
        with self.monkeypatch.context() as patch:
            self._surround(patch)
            patch.setattr(sys, "dont_write_bytecode", True)
            # Modules of a project: this one's, not those of the tests or of the project before.
            for name in [*(path.stem for path in self.path.glob("*.py")), "fakes"]:
                patch.delitem(sys.modules, name, raising=False)
            patch.syspath_prepend(str(self.path))
            return self.pytester.runpytest_inprocess(*arguments)

    def run_apart(self, *arguments: str, model: str | None = "fair") -> pytest.RunResult:
        """Run pytest in a process of its own, and those of its workers."""
        with self.monkeypatch.context() as patch:
            self._surround(patch)
            return self.pytester.runpytest_subprocess(*_named(arguments, model), *arguments)

    def run_forked(self, *arguments: str, model: str | None = "fair") -> Child:
        """Run pytest in a forked process, and its workers in others: nothing is imported anew."""
        with self.monkeypatch.context() as patch:
            self._surround(patch)
            act = run_pytest(*_named(arguments, model), *arguments)
            return ended(lambda: forget_projects() or act(), self.path)

    def refused(self, *arguments: str, model: str = "fair") -> tuple[int, str]:
        """Run what ends before anything is made: exit code, text."""
        result = self.run_plainly("--t2i-model", model, "--t2i-detector", "colour", *arguments)
        told = result.stderr.str() + result.stdout.str()
        assert "Traceback" not in told
        return int(result.ret), " ".join(told.split())

    def _surround(self, patch: pytest.MonkeyPatch) -> None:
        patch.chdir(self.path)
        for name, value in self.environment().items():
            patch.setenv(name, value)

    def environment(self) -> dict[str, str]:
        """What a process needs to know to work in it."""
        inherited = os.environ.get("PYTHONPATH")
        places = [str(self.path), *([inherited] if inherited else [])]
        path = os.pathsep.join(places)
        return {"FAKE_LOG": str(self.log), "PYTHONPATH": path, "COLUMNS": str(self.columns)}


def _named(arguments: tuple[str, ...], model: str | None) -> list[str]:
    """The model and the detector, where the arguments name none."""
    named = ["--t2i-model", model] if model and "--t2i-model" not in arguments else []
    if model and "--t2i-detector" not in arguments:
        named += ["--t2i-detector", "colour"]
    return named


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a fake model."""
    return Project(pytester.path, pytester, monkeypatch)


@pytest.fixture(scope="session")
def shelf() -> dict[str, Finished]:
    """Finished projects by name."""
    return {}


@pytest.fixture
def finished(
    shelf: dict[str, Finished],
    tmp_path_factory: pytest.TempPathFactory,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Finished]:
    """A project in which pytest has run once with these files and arguments, to be read only."""

    def finish(
        name: str,
        *arguments: str,
        files: Mapping[str, str] | None = None,
        prepare: Callable[[Path], Any] | None = None,
        apart: bool = False,
        **how: Any,
    ) -> Finished:
        if name not in shelf:
            project = Project(tmp_path_factory.mktemp(name), pytester, monkeypatch)
            project.write(files or {})
            if prepare is not None:
                prepare(project.path)
            run = project.run_apart if apart else project.run
            shelf[name] = Finished(project.path, run(*arguments, **how))
        return shelf[name]

    return finish


@pytest.fixture
def fair(finished: Callable[..., Finished]) -> Finished:
    """The suite on a fair model."""
    return finished("fair")


@pytest.fixture
def biased(finished: Callable[..., Finished]) -> Finished:
    """The suite on a biased model."""
    return finished("biased", model="biased")
