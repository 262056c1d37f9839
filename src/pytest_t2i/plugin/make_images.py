"""Make all images that the selected tests need, with progress on the terminal."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from pytest_t2i.generation.progress import Lines, Progress, terminal_progress
from pytest_t2i.runs.session.make_and_detect import make_and_detect
from pytest_t2i.runs.session.results import Results
from pytest_t2i.verdicts.limits_file import LimitFiles

if TYPE_CHECKING:
    import pytest


def make_here(results: Results, limits: LimitFiles, config: pytest.Config) -> None:
    """Make the images in this process, with progress on the terminal."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        make_and_detect(results, limits, progress_of_pytest(config))


def progress_of_pytest(config: pytest.Config) -> Progress:
    """Return a progress bar on a terminal, plain lines elsewhere."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if sys.stdout.isatty() or reporter is None:
        return terminal_progress()

    def write(line: str) -> None:
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()

    return Lines(write)
