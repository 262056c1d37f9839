"""What is generated in docs/ is current, and docs/architecture.md names what there is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src" / "pytest_t2i"
ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|\.toml|/))`", ARCHITECTURE)))
AT_THE_ROOT = ("plugins/", "tests/", "docs/", "conftest.py", "pyproject.toml")
NAMED = re.findall(r"`([a-z_/]+\.py)`, `(\w+)(?:\.(\w+))?`", ARCHITECTURE)
NAMES = sorted({names for names in NAMED if names[2] != "py"})


@pytest.mark.slow
def test_pictures_and_tables_are_current():
    run = subprocess.run(
        [sys.executable, "docs/tools/write.py", "--check"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("place", PLACES)
def test_the_map_names_what_there_is(place):
    folder = REPOSITORY if place.startswith(AT_THE_ROOT) else SOURCE
    there = folder / place
    assert there.is_dir() if place.endswith("/") else there.is_file()


def test_the_map_is_not_empty():
    assert len(PLACES) > 30
    assert len(NAMES) > 4


@pytest.mark.parametrize("names", NAMES, ids="-".join)
def test_the_map_names_functions_where_they_are(names):
    file, outer, inner = names
    tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    defined = {name: node for node in tree.body for name in _defined(node)}
    assert outer in defined
    if inner:
        assert inner in {name for node in defined[outer].body for name in _defined(node)}


def _defined(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
