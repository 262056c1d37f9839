"""The source of the package as it is read: modules, who imports whom, how long things are."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src" / "pytest_t2i"
PACKAGE = "pytest_t2i"

SUBPACKAGES = (
    "ground", "metrics", "statistics", "prompts", "adapters", "labels", "verdicts", "sections",
    "generation", "audits", "runs", "reporting", "library", "cli", "plugin",
)  # fmt: skip
"""From the bottom to the top; a subpackage may use itself and what stands before it."""
GROUND = (
    "data", "errors", "files", "option_names", "protocols", "read_files", "settings",
)  # fmt: skip
"""Modules of the root: the lowest subpackage."""


class Function(NamedTuple):
    """A function or method of the package."""

    lines: int
    """From ``def`` to its last line, the docstring included."""
    name: str
    """file:function"""


@cache
def modules() -> dict[str, Path]:
    """Dotted name -> file of every module; a folder's ``__init__`` has the folder's name."""
    return {dotted(path): path for path in sorted(SOURCE.rglob("*.py"))}


def dotted(path: Path) -> str:
    """``pytest_t2i.metrics.bias`` of ``.../metrics/bias.py``."""
    parts = [PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    """The parsed file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that the file is made of."""
    return tuple(ast.walk(tree(path)))


def subpackage(module: str) -> str | None:
    """The subpackage of a module; None for the package itself, which exports from all of them."""
    parts = module.split(".")
    if len(parts) == 1:
        return None
    return "ground" if parts[1] in GROUND else parts[1]


@cache
def imports(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Every import anywhere in a file, those inside functions and for type checkers included."""
    return tuple(node for node in nodes(path) if isinstance(node, ast.Import | ast.ImportFrom))


def imported_by(path: Path) -> set[str]:
    """Every name that a file imports anywhere in it, ``module`` and ``module.name``."""
    names: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def libraries(path: Path) -> set[str]:
    """Top-level packages that a file imports, this one and ``__future__`` left out."""
    return {name.partition(".")[0] for name in imported_by(path)} - {PACKAGE, "__future__"}


def arrows() -> dict[str, set[str]]:
    """Module -> modules of the package that it uses.

    ``from pytest_t2i.metrics import inputs`` uses ``metrics.inputs`` alone, not all of metrics;
    ``from pytest_t2i.metrics import similarity`` uses the folder's ``__init__``.
    """
    known = modules()
    return {name: _used(path, set(known)) - {name} for name, path in known.items()}


def _used(path: Path, known: set[str]) -> set[str]:
    used: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names} & known
        elif node.module in known:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            used |= full & known
            used |= {node.module} if full - known else set()
    return used


def upward(graph: dict[str, set[str]]) -> list[str]:
    """Arrows from a subpackage to one above it, and those to the package that exports from all."""
    return sorted(
        f"{name} -> {used}"
        for name, targets in graph.items()
        for used in targets
        if subpackage(name) is not None and (subpackage(used) is None or rank(used) > rank(name))
    )


def rank(module: str) -> int:
    """How high the subpackage of a module stands."""
    return SUBPACKAGES.index(subpackage(module) or "")


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach one another."""
    reach = {name: reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in graph
        if name in reach[name]
    }
    return [list(group) for group in sorted(groups)]


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """All modules that one uses, directly or through others."""
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen


def functions() -> list[Function]:
    """All functions and methods of the package, the longest first."""
    return sorted(
        (
            Function(node.end_lineno - node.lineno + 1, f"{path.relative_to(SOURCE)}:{node.name}")
            for path in modules().values()
            for node in nodes(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        ),
        reverse=True,
    )
