"""Renderers of a finished RunRecord, which compute no results themselves."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.errors import StoreError
from pytest_t2i.files import write_whole
from pytest_t2i.runs.record.images import images_file
from pytest_t2i.runs.record.picture_paths import as_kept
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.sections_files import files_beside

RUN, COMPARISON = "run.json", "compare.json"
"""Files of numbers: a folder of index.html and summary.md holds one of them."""


def write_all(
    record: RunRecord,
    folder: Path,
    project: Path | None = None,
) -> None:
    """Write the files of a run's report into a folder, each atomically.

    They are run.json, the file of its images, index.html and summary.md.
    """
    from pytest_t2i.reporting.html import render_html
    from pytest_t2i.reporting.markdown import render_markdown

    beside = files_beside(record, folder)

    set_aside(folder / COMPARISON)
    as_kept(record, project or folder.absolute().parent).write(folder / RUN)
    write_whole(folder / "index.html", render_html(record, folder, beside).encode())
    write_whole(folder / "summary.md", render_markdown(record, beside).encode())


def set_aside(file: Path) -> None:
    """Rename the file of another kind of report in the same folder to ``earlier-NAME``.

    The file of a run's images is renamed with it.
    """
    for each in (images_file(file), file):
        if each.is_file():
            try:
                each.replace(each.with_name(f"earlier-{each.name}"))
            except OSError as error:
                raise StoreError(f"cannot rename {each}: {error.strerror or error}") from error
