"""The imports of the package, read from its source: who uses whom, lazily or not."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "pytest_t2i"
PACKAGE = "pytest_t2i"

ROOMS = (
    "ground", "metrics", "statistics", "prompts", "adapters", "labels", "verdicts", "generation",
    "audits", "runs", "search", "reporting", "cli", "plugin",
)  # fmt: skip
"""From the bottom to the top; a room may use itself and what stands before it."""
GROUND = ("data", "errors", "files", "protocols", "settings")


def modules() -> dict[str, Path]:
    """Dotted name -> file of every module; a folder's ``__init__`` has the folder's name."""
    return {dotted(path): path for path in sorted(SOURCE.rglob("*.py"))}


def dotted(path: Path) -> str:
    """``pytest_t2i.metrics.lyu`` of ``.../metrics/lyu.py``."""
    parts = [PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str | None:
    """The room of a module; None for the package itself, which exports from all of them."""
    parts = module.split(".")
    if len(parts) == 1:
        return None
    return "ground" if parts[1] in GROUND else parts[1]


def imported_by(path: Path) -> set[str]:
    """Every name that a file imports anywhere in it, ``module`` and ``module.name``."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def arrows() -> dict[str, set[str]]:
    """Module -> modules of the package that it uses.

    ``from pytest_t2i.metrics import checks`` uses ``metrics.checks`` alone, not all of metrics;
    ``from pytest_t2i.metrics import similarity`` uses the folder's ``__init__``.
    """
    known = modules()
    return {name: _used(path, set(known)) - {name} for name, path in known.items()}


def _used(path: Path, known: set[str]) -> set[str]:
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            used |= full & known
            used |= {node.module} if full - known else set()
        elif isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names} & known
    return used


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach one another."""
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in graph
        if name in reach[name]
    }
    return [list(group) for group in sorted(groups)]


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen
