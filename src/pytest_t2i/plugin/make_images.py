"""Make all images that the selected tests need, with progress on the terminal."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from pytest_t2i.generation.progress import Bar, Lines, Progress
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
    if sys.stdout.isatty():
        return Bar(sys.stdout)
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return Lines(lambda line: print(line, flush=True))  # noqa: T201 - no reporter to print for us

    def write(line: str) -> None:
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()

    return Lines(write)
