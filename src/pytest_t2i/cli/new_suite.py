"""The files of a new suite: rendered, and written where nothing stands yet."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import read_text, write_whole
from pytest_t2i.runs.statement import MEANINGS, PYPROJECT, TABLE, read_statement

SUITE = Path("fairness")
"""Folder of the tests, in the project's."""
WORKFLOW = Path(".github/workflows/fairness.yml")
BASELINE = SUITE / "baseline.json"
INI = Path("pytest.ini")
OTHER_INIS = ("pytest.toml", ".pytest.toml", ".pytest.ini", "tox.ini", "setup.cfg")
"""Files that pytest reads its settings from: a pytest.ini beside them would take their place."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one file."""

    path: Path
    is_new: bool
    why: str = ""
    """Why it was left alone, and what to do by hand."""

    def __str__(self) -> str:
        return f"written: {self.path}" if self.is_new else f"left alone: {self.path} {self.why}"


def write_suite(
    folder: Path, facts: Mapping[str, Any], settings: Mapping[str, str]
) -> Iterator[Written]:
    """Write the suite, its limits, the CI job and pytest's settings; what is there stays.

    Args:
        folder: of the project.
        facts: what the templates are filled with.
        settings: pytest's ini keys and their values.

    Yields:
        What became of each file.

    Raises:
        ConfigurationError: the folder is a file.
        StoreError: it may not be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"expected a folder, {folder} is a file")
    for path, template in (
        (SUITE / "test_fairness.py", "test_fairness.py.j2"),
        (SUITE / "words.toml", "words.toml.j2"),
        (SUITE / "limits.toml", "limits.toml.j2"),
        (WORKFLOW, "fairness.yml.j2"),
    ):
        yield _write(folder / path, _render(template, facts))
    written = _write_settings(folder, settings)
    yield written
    if (stated := _write_statement(folder)) != written:
        yield stated


def _write(path: Path, content: str) -> Written:
    if path.exists():
        return Written(path, is_new=False, why="(it is there already)")
    write_whole(path, content.encode())
    return Written(path, is_new=True)


def _write_settings(folder: Path, settings: Mapping[str, str]) -> Written:
    """Append a block to pyproject.toml, or write pytest.ini where pytest has no settings yet."""
    project = folder / PYPROJECT
    lines = "\n".join(f'{key} = "{value}"' for key, value in settings.items())
    taken = next((name for name in (str(INI), *OTHER_INIS) if (folder / name).exists()), None)
    if taken is not None:
        return _left(folder / taken, "(pytest's settings)", settings)
    if not project.exists():
        plain = "".join(f"{key} = {value}\n" for key, value in settings.items())
        return _write(folder / INI, f"[pytest]\n{plain}")
    content = read_text(project)
    try:
        tool = tomllib.loads(content).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        return _left(project, f"(no valid TOML: {error})", settings)
    if not isinstance(tool, dict) or "pytest" in tool:
        return _left(project, "(it has pytest's settings)", settings)
    block = f"\n[tool.pytest.ini_options]\n{lines}\n"
    write_whole(project, f"{content.rstrip()}\n{block}".encode())
    return Written(project, is_new=True)


def _write_statement(folder: Path) -> Written:
    """Append a blank ``[tool.t2i.report]`` to pyproject.toml, which is made where it is absent."""
    project = folder / PYPROJECT
    block = _render("statement.toml.j2", {"fields": MEANINGS.items()})
    if not project.exists():
        return _write(project, block)
    content = read_text(project)
    try:
        read_statement(project)
        tool = tomllib.loads(content).get("tool", {})
    except (ConfigurationError, tomllib.TOMLDecodeError) as error:
        return Written(project, is_new=False, why=f"({error})")
    ours = tool.get("t2i", {}) if isinstance(tool, dict) else tool
    if not isinstance(ours, dict):
        return Written(project, is_new=False, why="(its [tool] or [tool.t2i] is no table)")
    if "report" in ours:
        return Written(project, is_new=False, why=f"(it has [{TABLE}])")
    write_whole(project, f"{content.rstrip()}\n\n{block}".encode())
    return Written(project, is_new=True)


def _left(path: Path, why: str, settings: Mapping[str, str]) -> Written:
    lines = "".join(f'\n    {key} = "{value}"' for key, value in settings.items())
    return Written(path, is_new=False, why=f"{why}; add to it:{lines}")


def _render(template: str, facts: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("pytest_t2i.cli"),
        autoescape=False,  # noqa: S701 - texts for people and machines, no page
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    # A JSON text is a TOML text.
    environment.filters["toml"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment.get_template(template).render(facts)
