"""Minutes of processor time that the tests of each folder take, beside what they may take."""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUDGETS = Path(__file__).with_name("minutes.toml")


def folder_of(nodeid: str) -> str:
    """The folder under which a test is counted.

    >>> folder_of("tests/unit/audits/test_a.py::test_b"), folder_of("src/pytest_t2i/data.py::x")
    ('tests/unit/audits', 'src')
    """
    parts = nodeid.partition("::")[0].split("/")
    if parts[0] == "plugins":
        return "/".join(parts[:2])
    depth = 3 if parts[:2] == ["tests", "unit"] and len(parts) > 3 else 2
    return parts[0] if parts[0] == "src" else "/".join(parts[: min(depth, len(parts) - 1)])


def processor_seconds() -> float:
    """What this process and its children that ended have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class Clock:
    """Adds to each report what its phase used: a busy machine changes it less than the time."""

    def __init__(self) -> None:
        self.before = processor_seconds()

    def pytest_runtest_logstart(self) -> None:
        """Begin with the first phase of a test."""
        self.before = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[Any]:
        """Note what was used since the report before."""
        report = yield
        now = processor_seconds()
        report.processor_seconds = now - self.before
        self.before = now
        return report


class Minutes:
    """Adds up what tests and their fixtures take, and prints it at the end."""

    def __init__(self) -> None:
        self.seconds: Counter[tuple[str, bool]] = Counter()
        """By folder, and whether the tests are slow."""
        self.tests: Counter[tuple[str, bool]] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test."""
        row = folder_of(report.nodeid), "slow" in report.keywords
        self.seconds[row] += getattr(report, "processor_seconds", report.duration)
        self.tests[row] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, the longest first. Slow tests have no budget: code decides on them."""
        budgets = tomllib.loads(BUDGETS.read_text("utf-8"))["minutes"]
        terminalreporter.section("minutes of processor time by folder")
        rows = [("folder", "tests", "minutes", "budget", "slow tests", "minutes")]
        folders = {folder: self.seconds[folder, False] for folder, _ in self.seconds}
        for folder, seconds in sorted(folders.items(), key=lambda item: -item[1]):
            budget = budgets.get(folder)
            over = " (over)" if budget is not None and seconds > 60 * budget else ""
            shown = "" if budget is None else f"{budget:g}{over}"
            rows.append((folder, *self._cells(shown, folder)))
        rows.append(("together", *self._cells("", *folders)))
        for folder, *cells in rows:
            terminalreporter.write_line(f"{folder:<32} " + " ".join(f"{c:>11}" for c in cells))

    def _cells(self, budget: str, *folders: str) -> list[str]:
        tests, slow = (sum(self.tests[f, is_slow] for f in folders) for is_slow in (False, True))
        times = [sum(self.seconds[f, is_slow] for f in folders) for is_slow in (False, True)]
        minutes, slow_minutes = (f"{seconds / 60:.1f}" for seconds in times)
        return [str(tests), minutes, budget, str(slow), slow_minutes]
