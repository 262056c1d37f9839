"""Each commit runs some of the slow tests; all of them take more than an hour.

A run has the slow tests of the golden records, and of as many other files as took four minutes when
``--all-simulations`` last ran them (``slow_seconds.json``, which such a run writes): first those
that the last commit or the working tree changed, then others in an order that follows from the hash
of the commit. ``--all-simulations`` runs everything, and so does the name of a file on the command
line.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ADAPTERS, COMPANIONS = ROOT / "src/pytest_t2i/adapters", ROOT / "plugins"
TABLE = ROOT / "tests/slow_seconds.json"
SECONDS = 240.0
"""Seconds that the drawn tests of a commit took when all were run."""
UNKNOWN = 15.0
"""Seconds that a file counts for which the table lacks."""
ALWAYS = "tests/golden/"
SLOW_FOLDERS = [
    *(ADAPTERS / name for name in ("detectors", "encoders", "finders", "languages", "models")),
    COMPANIONS / "pytest-t2i-goya" / "src",
]
"""Whose modules bring torch, transformers and diffusers: their import takes seconds."""
BRINGS_TORCH = re.compile(r"^\s*(import|from) (torch|transformers|diffusers)\b", re.MULTILINE)
SLOW_AS_A_WHOLE = re.compile(r"^pytestmark = (\[\n\s*)?pytest\.mark\.slow\b", re.MULTILINE)


def is_slow(path: Path) -> bool:
    """Whether all tests of a file are slow: so it says, or it is a module that brings torch."""
    text = path.read_text(encoding="utf-8")
    if path.name.startswith("test_"):
        return SLOW_AS_A_WHOLE.search(text) is not None
    return any(folder in path.parents for folder in SLOW_FOLDERS) or (
        any(folder in path.parents for folder in (ADAPTERS, COMPANIONS))
        and BRINGS_TORCH.search(text) is not None
    )


def _has_slow_tests(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "mark.slow" in text if path.name.startswith("test_") else ">>>" in text and is_slow(path)


def files_of_commit(
    seconds: Mapping[str, float], commit: str, changed: Collection[str] = ()
) -> frozenset[str]:
    """Names of files whose slow tests a commit runs, given how long each took."""

    def place(name: str) -> tuple[bool, bytes]:
        return name not in changed, hashlib.sha256(f"{commit} {name}".encode()).digest()

    chosen: list[str] = []
    left = SECONDS
    for name in sorted(seconds, key=place):
        if seconds[name] <= left or not chosen:
            chosen.append(name)
            left -= seconds[name]
    return frozenset(chosen)


@cache
def _run_here() -> frozenset[str]:
    """Names of the files whose slow tests this commit runs."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    folders = settings["tool"]["pytest"]["ini_options"]["testpaths"]
    names = [
        file.relative_to(ROOT).as_posix()
        for folder in folders
        for file in (ROOT / folder).rglob("*.py")
        if _has_slow_tests(file)
    ]
    took = _seconds()
    slow = {name: took.get(name, UNKNOWN) for name in names if not name.startswith(ALWAYS)}
    commit = "".join(_git("rev-parse", "--short=7", "HEAD"))
    return files_of_commit(slow, commit, _git("diff", "--name-only", "HEAD~1"))


def _git(*arguments: str) -> list[str]:
    """Lines that git prints; [] where there is no git, or no such commit."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    return done.stdout.split()


def _seconds() -> dict[str, float]:
    table: dict[str, float] = json.loads(TABLE.read_text("utf-8"))
    return table


class LeftOut:
    """Leaves slow tests to other commits, and says so."""

    def __init__(self, config: pytest.Config) -> None:
        self.named = {
            (config.invocation_params.dir / argument.partition("::")[0]).resolve()
            for argument in config.args
        }

    def is_left_out(self, path: Path) -> bool:
        """Whether the slow tests of a file are not run."""
        if path in self.named or ROOT not in path.parents:
            return False
        name = path.relative_to(ROOT).as_posix()
        return not name.startswith(ALWAYS) and name not in _run_here()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Take the slow tests of other commits out of the run."""
        slow = [item for item in items if item.get_closest_marker("slow")]
        left = {item for item in slow if self.is_left_out(item.path)}
        if left:
            config.hook.pytest_deselected(items=list(left))
            items[:] = [item for item in items if item not in left]

    def pytest_report_header(self) -> str:
        """Say which slow tests are run."""
        return (
            f"slow tests: of {ALWAYS} and {len(_run_here())} files of this commit "
            "(--all-simulations runs all)"
        )


class Recorder:
    """Writes how long the slow tests of each file took."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of a test."""
        if "slow" in report.keywords:
            self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the table; files that were not run keep their rows."""
        rounded = {name: round(seconds, 1) for name, seconds in self.seconds.items()}
        table = {name: s for name, s in (_seconds() | rounded).items() if (ROOT / name).is_file()}
        TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n", "utf-8")
