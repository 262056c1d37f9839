"""Render the files of a new suite, and write them where no file exists yet."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pytest_t2i.adapters.support.escaping import line
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import quoted, read_text, write_whole
from pytest_t2i.runs.statement import MEANINGS, PYPROJECT, TABLE, read_statement

SUITE = Path("fairness")
"""The folder of the tests in the project."""
WORKFLOW = Path(".github/workflows/fairness.yml")
TESTS = (
    (SUITE / "test_fairness.py", "test_fairness.py.j2"),
    (SUITE / "words.toml", "words.toml.j2"),
)
"""The files that say what a suite tests: path, template."""
BASELINE = SUITE / "baseline.json"
SETTINGS = "pytest's settings"
INIS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
"""Files from which pytest reads its settings; where one is there, pyproject.toml is ignored."""
SHARED_INIS = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}
"""File of several tools -> section of pytest, which counts where pyproject.toml has none."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """The outcome for one file."""

    path: Path
    is_new: bool
    why: str = ""
    """Why the file was left alone, and what to do by hand."""
    part: str = ""
    """The part that was added to an existing file; "" for a whole file."""
    but: str = ""
    """What of the same file was left alone, and why."""

    @property
    def lacks_settings(self) -> bool:
        """Whether pytest's settings were left alone, with or without another part."""
        if self.is_new:
            return bool(self.but) and self.part != SETTINGS
        return self.part == SETTINGS

    def __str__(self) -> str:
        if self.is_new:
            added = f"added to {self.path}: {self.part}{self.but}"
            return added if self.part else f"written: {self.path}"
        place = f"{self.part} of {self.path}" if self.part else str(self.path)
        return f"left alone: {place} {self.why}"


def another_suite(folder: Path, facts: Mapping[str, Any]) -> list[Path]:
    """Return the existing files of a suite with other tests or other words."""
    return [
        folder / path
        for path, template in TESTS
        if (folder / path).is_file() and read_text(folder / path) != _render(template, facts)
    ]


def write_suite(
    folder: Path, facts: Mapping[str, Any], settings: Mapping[str, str]
) -> Iterator[WrittenFile]:
    """Write the suite, limits, CI job and settings of pytest; no existing file is replaced."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"expected a folder, {folder} is a file")
    more_files = ((SUITE / "limits.toml", "limits.toml.j2"), (WORKFLOW, "fairness.yml.j2"))
    for path, template in (*TESTS, *more_files):
        yield _write(folder / path, _render(template, facts))
    statement = _render("statement.toml.j2", {"fields": MEANINGS.items()})
    if not (folder / PYPROJECT).exists() and _taken(folder) is None:
        yield _write(folder / PYPROJECT, f"{_table(settings)}\n{statement}")
        return
    yield from _together(_write_settings(folder, settings), _write_statement(folder, statement))


def _together(settings: WrittenFile, statement: WrittenFile) -> Iterator[WrittenFile]:
    """Yield the outcomes of two parts, as one where they are about one file and differ."""
    if settings.path != statement.path or settings.is_new == statement.is_new:
        yield from (settings, statement)
        return
    new, old = (settings, statement) if settings.is_new else (statement, settings)
    yield replace(new, but=f"; {old.part} stay as they are {old.why}")


def _write(path: Path, content: str) -> WrittenFile:
    if path.exists():
        return WrittenFile(path, is_new=False, why="(it is there already)")
    write_whole(path, content.encode())
    return WrittenFile(path, is_new=True)


def _taken(folder: Path) -> Path | None:
    """Return the file beside pyproject.toml that holds pytest's settings, or None."""
    for name in INIS:
        if (folder / name).exists():
            return folder / name
    for name, section in SHARED_INIS.items():
        if (folder / name).exists() and _has(folder / name, section):
            return folder / name
    return None


def _has(path: Path, section: str) -> bool:
    """Return whether an ini file has a section; True where the file cannot be parsed."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(read_text(path))
    except configparser.Error:
        return True
    return parser.has_section(section)


def _table(settings: Mapping[str, str]) -> str:
    lines = "".join(f"{key} = {quoted(value)}\n" for key, value in settings.items())
    return f"[tool.pytest.ini_options]\n{lines}"


def _write_settings(folder: Path, settings: Mapping[str, str]) -> WrittenFile:
    """Append pytest's settings to pyproject.toml, unless it or another file has some."""
    project = folder / PYPROJECT
    tool: object = {}
    if project.exists():
        content = read_text(project)
        try:
            tool = tomllib.loads(content).get("tool", {})
        except tomllib.TOMLDecodeError as error:
            return _left(project, f"(no valid TOML: {error})", settings)
    has_own = not isinstance(tool, dict) or "pytest" in tool
    settings_file = _taken(folder)
    # pyproject.toml takes precedence over tox.ini and setup.cfg.
    if settings_file is not None and (settings_file.name in INIS or not has_own):
        instead = f", and none of those in {PYPROJECT}" if has_own else ""
        return _left(settings_file, f"(pytest reads its settings there{instead})", settings)
    if has_own:
        return _left(project, "(it has its own)", settings)
    write_whole(project, f"{content.rstrip()}\n\n{_table(settings)}".encode())
    return WrittenFile(project, is_new=True, part=SETTINGS)


def _write_statement(folder: Path, block: str) -> WrittenFile:
    """Append a blank ``[tool.t2i.report]`` to pyproject.toml, or make the file."""
    project = folder / PYPROJECT
    if not project.exists():
        return _write(project, block)
    content = read_text(project)
    try:
        read_statement(project)
        tool = tomllib.loads(content).get("tool", {})
    except (ConfigurationError, tomllib.TOMLDecodeError) as error:
        return _kept(project, f"({error})")
    ours = tool.get("t2i", {}) if isinstance(tool, dict) else tool
    if not isinstance(ours, dict):
        return _kept(project, "([tool] or [tool.t2i] in it is not a table)")
    if "report" in ours:
        return _kept(project, "(it is there already)")
    write_whole(project, f"{content.rstrip()}\n\n{block}".encode())
    return WrittenFile(project, is_new=True, part=f"[{TABLE}]")


def _kept(project: Path, why: str) -> WrittenFile:
    return WrittenFile(project, is_new=False, why=why, part=f"[{TABLE}]")


def _left(path: Path, why: str, settings: Mapping[str, str]) -> WrittenFile:
    # In an ini file, quotes would belong to the value.
    quote = '"' if path.suffix == ".toml" else ""
    lines = "".join(f"\n    {key} = {quote}{value}{quote}" for key, value in settings.items())
    return WrittenFile(path, is_new=False, why=f"{why}; add to it:{lines}", part=SETTINGS)


def _render(template: str, facts: Mapping[str, Any]) -> str:
    return _templates().get_template(template).render(facts)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("pytest_t2i.cli"),
        autoescape=False,  # noqa: S701 - texts for people and machines, no page
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = quoted
    environment.filters["comment"] = line
    return environment
