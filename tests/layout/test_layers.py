"""The house of DESIGN.md: an arrow only points down, and nothing goes in a circle."""

from __future__ import annotations

import ast
import re

import pytest
from layout import source

PURE = ("metrics", "statistics")
PLAIN = {
    "bisect", "collections", "dataclasses", "enum", "functools", "importlib", "itertools", "math",
    "operator",
    "types", "typing", "warnings", "numpy", "scipy", "skimage",
}  # fmt: skip
"""What a pure subpackage may import: nothing that reads, writes, draws or learns."""


def test_every_module_stands_in_a_subpackage():
    known = {None, *source.SUBPACKAGES}
    homeless = {name for name in source.modules() if source.subpackage(name) not in known}
    assert not homeless


def test_no_arrow_points_up():
    assert source.upward(source.arrows()) == []


def test_nothing_goes_in_a_circle():
    assert source.cycles(source.arrows()) == []


def test_imports_name_the_whole_path():
    relative = {
        name
        for name, path in source.modules().items()
        for node in source.imports(path)
        if isinstance(node, ast.ImportFrom) and node.level
    }
    assert not relative


@pytest.mark.parametrize("subpackage", PURE)
def test_pure_subpackages_only_reckon(subpackage):
    modules = source.modules().items()
    paths = [path for name, path in modules if source.subpackage(name) == subpackage]
    assert paths
    assert {path.name: source.libraries(path) - PLAIN for path in paths} == {
        path.name: set() for path in paths
    }


@pytest.mark.parametrize("subpackage", PURE)
def test_pure_subpackages_open_no_file(subpackage):
    opening = {
        name
        for name, path in source.modules().items()
        if source.subpackage(name) == subpackage
        for node in ast.walk(source.tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open"
    }
    assert not opening


PUBLIC_PACKAGES = ("labels", "metrics", "prompts", "sections", "statistics")
PUBLIC = tuple(f"pytest_t2i.{name}." for name in PUBLIC_PACKAGES)
"""What anybody may import from beside the package itself."""


def private_modules(files):
    used = {name for path in files for name in source.imported_by(path)}
    inside = {name for name in used if name.startswith("pytest_t2i.") and name.count(".") > 1}
    return {name for name in inside if not name.startswith(PUBLIC) or name.count(".") > 2}


@pytest.mark.parametrize(
    "companion", ["crowds", "explain", "goya", "labelling", "mitigation", "origins", "ray"]
)
def test_a_new_companion_uses_the_public_package_alone(companion):
    files = list(source.REPOSITORY.glob(f"plugins/pytest-t2i-{companion}/src/**/*.py"))
    assert files
    assert private_modules(files) == set()


def test_training_scripts_use_the_public_package_alone():
    files = list(source.REPOSITORY.glob("plugins/*/training/**/*.py"))
    assert files
    assert private_modules(files) == set()


def test_only_the_plugin_knows_pytest():
    knowing = {
        source.subpackage(name)
        for name, path in source.modules().items()
        if source.libraries(path) & {"pytest", "_pytest", "xdist"}
    }
    assert knowing == {"plugin"}


COMPANIONS = {path.parent.name for path in source.REPOSITORY.glob("plugins/*/src/*/__init__.py")}


def test_the_core_names_no_companion():
    assert "pytest_t2i_reference" in COMPANIONS
    for path in source.SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in COMPANIONS if re.search(rf"\b{name}\b", text)], path


UP, DOWN = "pytest_t2i.plugin.hooks", "pytest_t2i.metrics.bias"


@pytest.mark.parametrize(
    ("graph", "forbidden"),
    [
        ({DOWN: {UP}, UP: set()}, [f"{DOWN} -> {UP}"]),
        ({UP: {DOWN}, DOWN: set()}, []),
        ({UP: {"pytest_t2i"}}, [f"{UP} -> pytest_t2i"]),
        ({"pytest_t2i": {UP, DOWN}}, []),
        ({"pytest_t2i.data": {"pytest_t2i.settings"}}, []),
        ({"pytest_t2i.settings": {DOWN}}, [f"pytest_t2i.settings -> {DOWN}"]),
    ],
)
def test_an_arrow_that_points_up_would_be_seen(graph, forbidden):
    assert source.upward(graph) == forbidden


def test_a_circle_would_be_seen():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"e"}, "f": set()}
    assert source.cycles(graph) == [["a", "b", "c"], ["e"]]
