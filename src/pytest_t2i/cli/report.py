"""``t2i report``: a run.json as index.html and summary.md."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.reporting import write_all
from pytest_t2i.runs.record import read_run


def run(source: Path, folder: Path) -> int:
    """Render a recorded run into a folder."""
    write_all(read_run(source), folder)
    print(folder / "index.html")  # noqa: T201 - a command line tool
    return 0
