"""``t2i compare history``: show the scores of recorded runs over time, and where they changed."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.support.arguments import add_confidence, path, say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.reporting.history import history_lines, write_history
from pytest_t2i.runs.history import read_history, series_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the history, the models, and the report folder."""
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=path,
        default=Path("reports/t2i/history"),
        help="folder of the history (default: reports/t2i/history)",
    )
    parser.add_argument(
        "--model",
        metavar="TEXT",
        help="show only models whose name contains this text (default: all models)",
    )
    parser.add_argument(
        "--report",
        type=path,
        default=Path("reports/t2i-history"),
        metavar="DIR",
        help="folder to write the page to (default: reports/t2i-history)",
    )
    add_confidence(parser, "one minus the chance of a false alarm over a whole series")


def run(folder: Path, model: str | None, report: Path, level: float) -> int:
    """Print the runs and the changes, and write the page; return 0."""
    runs = [run for run in read_history(folder) if model is None or model in run.model]
    if not runs:
        raise ConfigurationError(f"{folder}: no run of a model whose name contains {model!r}")
    series = series_of(runs, level=level)
    for line in history_lines(series):
        say(line)
    write_history(series, report)
    print(f"report: {report / 'index.html'}")  # noqa: T201 - a command line tool
    return 0
