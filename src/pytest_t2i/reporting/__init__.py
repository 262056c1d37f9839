"""Reports: render a finished RunRecord; compute nothing."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.files import write_whole
from pytest_t2i.runs.record import RunRecord


def write_all(record: RunRecord, folder: Path) -> None:
    """Write run.json, index.html and summary.md into a folder, each file whole."""
    from pytest_t2i.reporting.html import render_html
    from pytest_t2i.reporting.markdown import render_markdown

    write_whole(folder / "run.json", record.to_json().encode())
    write_whole(folder / "index.html", render_html(record, folder).encode())
    write_whole(folder / "summary.md", render_markdown(record).encode())
