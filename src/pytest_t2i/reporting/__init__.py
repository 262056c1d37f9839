"""Reports: render a finished RunRecord; compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.errors import StoreError
from pytest_t2i.files import write_whole
from pytest_t2i.runs.machine_paths import as_kept
from pytest_t2i.runs.record import RunRecord

RUN, COMPARISON = "run.json", "compare.json"
"""What index.html and summary.md of a folder are read from: one of them."""


def write_all(
    record: RunRecord,
    folder: Path,
    audits: Sequence[Audit[Any]] | None = None,
    project: Path | None = None,
) -> None:
    """Write run.json, index.html and summary.md into a folder, each file whole.

    Args:
        record: of the run.
        folder: where to write.
        audits: say what their records show; None takes those of installed distributions.
        project: what run.json names files from; None takes the folder's own one.
    """
    from pytest_t2i.reporting.html import render_html
    from pytest_t2i.reporting.markdown import render_markdown

    set_aside(folder / COMPARISON)
    write_whole(
        folder / RUN, as_kept(record, project or folder.absolute().parent).to_json().encode()
    )
    write_whole(folder / "index.html", render_html(record, folder, audits).encode())
    write_whole(folder / "summary.md", render_markdown(record, audits).encode())


def set_aside(file: Path) -> None:
    """Rename what another kind of report left in its folder, which would contradict this one's.

    Nothing is lost but an older file of that name. Raises StoreError where it cannot be renamed.
    """
    if file.is_file():
        try:
            file.replace(file.with_name(f"earlier-{file.name}"))
        except OSError as error:
            raise StoreError(f"cannot rename {file}: {error.strerror or error}") from error
