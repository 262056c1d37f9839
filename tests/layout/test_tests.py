"""The tests are laid out as the package is, and find their helpers by one setting."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections import Counter

import pytest
from layout import source

TESTS = source.REPOSITORY / "tests"
UNIT = TESTS / "unit"
DATA = {"golden"}
"""Folders beside tests that hold no tests."""


def folders(top):
    """Every folder under one that holds tests, relative to it."""
    return {path.parent.relative_to(top) for path in top.rglob("test_*.py")}


def test_unit_tests_stand_where_the_module_does():
    strangers = {str(f) for f in folders(UNIT) if not (source.SOURCE / f).is_dir()}
    assert strangers == set()


def test_every_folder_beside_the_unit_tests_is_one_of_the_package():
    there = {path.relative_to(UNIT) for path in UNIT.rglob("*") if path.is_dir()}
    strangers = {
        str(f)
        for f in there
        if not DATA & set(f.parts)
        and "__pycache__" not in f.parts
        and not (source.SOURCE / f).is_dir()
    }
    assert strangers == set()


def test_no_two_helpers_on_the_path_of_tests_have_one_name():
    """The folder that comes first would hide the other one."""
    with (source.REPOSITORY / "pyproject.toml").open("rb") as file:
        folders_on_path = tomllib.load(file)["tool"]["pytest"]["ini_options"]["pythonpath"]
    names = Counter(
        path.name
        for folder in folders_on_path
        for path in (source.REPOSITORY / folder).glob("*.py")
        if not path.name.startswith("test_") and path.name not in {"conftest.py", "__init__.py"}
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_every_subpackage_has_unit_tests():
    subpackages = {path.parent.name for path in source.SOURCE.glob("*/__init__.py")}
    assert subpackages - {str(folder).split("/")[0] for folder in folders(UNIT)} == set()


@pytest.mark.slow
def test_no_test_changes_where_python_looks():
    changing = {
        str(path.relative_to(source.REPOSITORY))
        for top in ("tests", "suites", "plugins/*/tests")
        for path in source.REPOSITORY.glob(f"{top}/**/*.py")
        if "trials" not in path.parts  # their children have nothing else to import from
        if "sys" in path.read_text(encoding="utf-8")
        for node in source.nodes(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path"
    }
    assert changing == set()


COLLECTED_WITHOUT_TORCH = """
import sys

import pytest

status = pytest.main(["-q", "--collect-only", "-m", "not slow", "-p", "no:cacheprovider"])
sys.exit(status or "torch" in sys.modules)
"""


@pytest.mark.slow
def test_the_loop_of_a_contributor_imports_no_torch():
    """``-m "not slow"`` would spend a tenth of its two minutes on it."""
    collecting = subprocess.run(
        [sys.executable, "-c", COLLECTED_WITHOUT_TORCH], cwd=source.REPOSITORY,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert collecting.returncode == 0, collecting.stdout[-3000:]
