"""What left the core for a companion is named in one place: where it is said what to install."""

from __future__ import annotations

import re

import pytest
from layout import source

LEFT = {
    "origins": (
        r"\bhunt(s|ed|ing)?\b|\bt2i[ ._]research\b|\bresearch\.(stop|candidates|sentences)\b"
        r"|\bStOP\b|\bstock[ _]figures?\b|pytest[-_]t2i[-_]origins|\bOriginsAudit\b|\.origins\b"
        r"""|["']origins["']"""
    ),
    "crowds": r"(?i)\bcrowds?\b|pytest[-_]t2i[-_]crowds|crowd_",
    "explain": (
        r"""\bt2i explain\b|pytest[-_]t2i[-_]explain|\bculprit|\bExplanation\(|["']explain["']"""
    ),
}
"""End of a companion's name -> pattern of the names that left with it, or that went for good."""
INSTALL = {
    "adapters/registry.py": r"\b(COMPANION|{constant})\b",
    "reporting/hint.py": r"^COMMAND = ",
    "cli/shipped/reproduce.toml": r"^needs = |^command = |^  \[",
}
"""File -> pattern of its lines that may name a companion: what to install for a name, and which
command makes a table of the papers and what that needs."""
SUFFIXES = {".py", ".toml", ".j2", ".css", ".js", ".json", ".md"}


def named(name, text):
    """The lines of a text that name what left."""
    return [line for line in text.splitlines() if re.search(LEFT[name], line)]


def says_what_to_install(name, file, line):
    """Whether a line of this file may name it."""
    pattern = INSTALL.get(file, "").replace("{constant}", name.upper())
    return bool(pattern) and re.search(pattern, line) is not None


@pytest.mark.parametrize("name", LEFT)
def test_it_is_named_where_it_is_said_what_to_install_alone(name):
    lines = {
        (str(path.relative_to(source.SOURCE)), line.strip()): says_what_to_install(
            name, path.relative_to(source.SOURCE).as_posix(), line
        )
        for path in source.SOURCE.rglob("*")
        if path.suffix in SUFFIXES
        for line in named(name, path.read_text(encoding="utf-8"))
    }
    assert [place for place, may in lines.items() if not may] == []
    assert any(lines.values())


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("origins", '"""They are for suites; ``t2i research hunt`` searches with them."""'),
        ("origins", "from pytest_t2i_origins.origins import OriginsAudit"),
        ("origins", '        "stock_figure",'),
        ("origins", "found = sample.origins(llm)"),
        ("crowds", "from pytest_t2i_crowds import Crowd"),
        ("crowds", 'limit("crowd_share_gap", 0.5)'),
        ("explain", '"""The advice: ``t2i explain`` names the change."""'),
    ],
)
def test_a_line_that_names_it_would_be_seen(name, line):
    assert named(name, line)
    assert not says_what_to_install(name, "plugin/hooks.py", line)
    assert not says_what_to_install(name, "adapters/registry.py", line)


@pytest.mark.parametrize("name", LEFT)
def test_the_companion_is_in_this_repository(name):
    assert (source.REPOSITORY / f"plugins/pytest-t2i-{name}/src/pytest_t2i_{name}").is_dir()
