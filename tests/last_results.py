"""Slow tests whose code has not changed since they last passed are not run again.

This holds for simulations, which judge code by random numbers of a fixed seed, and for the slow
tests of companions. Each is known by a digest of every module that it imports, directly or not.
``last_results.json`` holds the digest, the date and the seconds of each test that passed; a run
writes it, and it is committed. ``--all-simulations`` runs everything.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pytest_t2i"
TABLE = Path(__file__).with_name("last_results.json")
DIGEST = "last_results_digest"
"""Name of the property of a report."""
EVERYTHING = ("plugin", "library", "runs", "adapters/registry", "cli")
"""Modules that load others by name: what imports one of them depends on the whole source."""


def is_kept(path: Path) -> bool:
    """Whether slow tests of a file are run only where their code has changed."""
    parts = path.relative_to(ROOT).parts if ROOT in path.parents else ()
    return parts[:2] == ("tests", "simulations") or (parts[:1] == ("plugins",) and "tests" in parts)


@cache
def digest(path: Path) -> str:
    """The digest of a test's file and of all modules that it imports."""
    files = {path, *_closure(path)}
    if ROOT / "plugins" in path.parents:
        companion = next(parent for parent in path.parents if (parent / "pyproject.toml").is_file())
        own = [file for file in (companion / "src").rglob("*.py") if file.is_file()]
        files |= {*own, *(path.parent.glob("*.py"))}
        for file in own:
            files |= _closure(file)
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(file.relative_to(ROOT).as_posix().encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:20]


@cache
def _closure(path: Path) -> frozenset[Path]:
    """Files of this repository that a file imports, directly or not, and the data beside them."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        for file in _imported(waiting.pop()):
            if file not in found:
                found.add(file)
                waiting.append(file)
    names = {file.relative_to(SOURCE).as_posix() for file in found if SOURCE in file.parents}
    if any(name.startswith(EVERYTHING) for name in names) or "pytester" in path.read_text("utf-8"):
        found |= set(SOURCE.rglob("*.py"))
    folders = {file.parent for file in found if SOURCE in file.parents}
    return frozenset({*found, *(data for folder in folders for data in folder.glob("*.toml"))})


@cache
def _imported(path: Path) -> frozenset[Path]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(file for name in names for file in _files_of(name, path.parent))


def _files_of(name: str, beside: Path) -> Iterator[Path]:
    """The file of a module; of a name of the package ``pytest_t2i``, that of its home."""
    parts = name.split(".")
    if parts[0] == "pytest_t2i":
        if len(parts) == 2 and parts[1] in _homes():
            parts = ["pytest_t2i", *_homes()[parts[1]].split(".")]
        folder = SOURCE.parent
    elif parts[0].startswith("pytest_t2i_"):
        folder = ROOT / "plugins" / parts[0].replace("_", "-") / "src"
    else:
        folder = beside
        if not _is_there(folder.joinpath(*parts)):
            folder = ROOT / "tests"
    place = folder.joinpath(*parts)
    for candidate in (place.with_suffix(".py"), place / "__init__.py"):
        if candidate.is_file():
            yield candidate
            yield from (p / "__init__.py" for p in _packages(candidate.parent, folder))


def _is_there(place: Path) -> bool:
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def _packages(folder: Path, top: Path) -> Iterator[Path]:
    while folder != top and (folder / "__init__.py").is_file():
        yield folder
        folder = folder.parent


@cache
def _homes() -> dict[str, str]:
    """Public name of ``pytest_t2i`` -> its module."""
    import pytest_t2i

    return {**pytest_t2i._NAMES, **pytest_t2i._MODULES}


@cache
def _table() -> dict[str, dict[str, object]]:
    try:
        table: dict[str, dict[str, object]] = json.loads(TABLE.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return table


def skip_unchanged(items: Iterable[pytest.Item]) -> None:
    """Skip the tests that passed with the same code."""
    for item in items:
        if not (item.get_closest_marker("slow") and is_kept(item.path)):
            continue
        now = digest(item.path)
        item.user_properties.append((DIGEST, now))
        last = _table().get(item.nodeid)
        if last is not None and last["digest"] == now:
            reason = (
                f"its code is that with which it passed on {last['date']}, in {last['seconds']} s "
                "(--all-simulations runs it)"
            )
            item.add_marker(pytest.mark.skip(reason=reason))


class Recorder:
    """Collects the tests that passed, and writes the table at the end."""

    def __init__(self) -> None:
        self.passed: dict[str, dict[str, object]] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test."""
        now = dict(report.user_properties).get(DIGEST)
        if now is None:
            return
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed[report.nodeid] = {
                "digest": now,
                "date": f"{datetime.now(UTC):%Y-%m-%d}",
                "seconds": round(report.duration, 1),
            }

    def pytest_sessionfinish(self) -> None:
        """Write what passed; what failed is forgotten."""
        if not (self.passed or self.failed):
            return
        table = {**_table(), **self.passed}
        rows = {
            name: row
            for name, row in sorted(table.items())
            if name not in self.failed and (ROOT / name.partition("::")[0]).is_file()
        }
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        TABLE.write_text(f"{{\n{lines}\n}}\n", "utf-8")
