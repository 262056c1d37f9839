"""``t2i report``: a run.json as index.html and summary.md."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.arguments import path
from pytest_t2i.reporting import write_all
from pytest_t2i.runs.record import read_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is rendered, and where to."""
    parser.add_argument("source", metavar="RUN", type=path, help="a run.json")
    parser.add_argument("folder", metavar="FOLDER", type=path, help="where to write")


def run(source: Path, folder: Path) -> int:
    """Render a recorded run into a folder."""
    write_all(read_run(source), folder)
    print(folder / "index.html")  # noqa: T201 - a command line tool
    return 0
