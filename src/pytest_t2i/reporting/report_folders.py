"""The folders of reports: one per run, and the latest run also in ``latest`` and at the top.

``reports/t2i/<run>/`` stays until newer runs replace it. ``latest/`` holds the same files, as hard
links where the file system supports them, else as copies. The folder of reports itself also shows
the latest run, under the paths that CI jobs read; paths in its page and manifest are relative to
it.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from secrets import token_hex

from filelock import Timeout

from pytest_t2i.errors import StoreError
from pytest_t2i.files import FileLock, checksum, explain, file_name, write_whole
from pytest_t2i.reporting import COMPARISON, RUN, set_aside, write_all
from pytest_t2i.runs.record.images import images_file
from pytest_t2i.runs.record.manifest import NAME as MANIFEST
from pytest_t2i.runs.record.manifest import ReportManifest, rendered_anew
from pytest_t2i.runs.record.picture_paths import without_machine
from pytest_t2i.runs.record.record import RunRecord

LATEST = "latest"
PAGE, SUMMARY = "index.html", "summary.md"
IMAGES = images_file(Path(RUN)).name
FOLDER = re.compile(r"\d{8}T\d{6}-.+-[0-9a-f]{6}")
"""Names of folders that ``write_run`` creates."""
MOST_KEPT = 500
"""Largest number of these folders; the oldest are deleted first."""
LOCK = ".latest.lock"
LONGEST_WAIT = 60.0
"""Longest wait in seconds for another run that links its few files."""
MAYBE_IN_USE = 600.0
"""Seconds after the last change of a folder during which a run may still write into it."""
UP = re.compile(r'href="\.\./')
"""Beginning of a link from a run's page out of its folder; all pictures have such links."""


def write_run(
    record: RunRecord,
    reports: Path,
    project: Path | None = None,
) -> Path:
    """Write run.json, index.html and summary.md into a new folder of ``reports``, and return it."""
    digest = checksum(record.to_json().encode())[:6]
    moment = re.sub(r"[^0-9T]", "", record.created[:19])
    folder = reports / f"{moment}-{file_name(without_machine(record.model))}-{digest}"
    remove_link(folder)
    write_all(record, folder, project)
    return folder


def publish(folder: Path, reports: Path, manifest: ReportManifest) -> None:
    """Show a run, whose report and manifest are written, as the latest; remove older folders.

    A lock keeps the files of two runs that end at the same time from mixing.
    """
    try:
        remove_link(reports / LOCK)
        with FileLock(reports / LOCK, timeout=LONGEST_WAIT):
            _show(folder, reports, manifest)
            _prune(reports)
    except Timeout:
        raise StoreError(
            f"{reports}: another run has been writing there for {LONGEST_WAIT:.0f} seconds. "
            f"This one's report is in {folder}; if no other run is at work, delete {LOCK}."
        ) from None
    except OSError as error:
        raise StoreError(explain(reports, error)) from error


def _show(folder: Path, reports: Path, manifest: ReportManifest) -> None:
    remove_link(reports / LATEST)
    (reports / LATEST).mkdir(exist_ok=True)
    for name in (RUN, IMAGES, PAGE, SUMMARY, MANIFEST):
        _link(folder / name, reports / LATEST / name)
    set_aside(reports / COMPARISON)
    for name in (RUN, IMAGES, SUMMARY):
        _link(folder / name, reports / name)
    page = (folder / PAGE).read_text(encoding="utf-8")
    write_whole(reports / PAGE, UP.sub('href="', page).encode())
    rendered_anew(manifest, folder, reports)


def remove_link(path: Path) -> None:
    """Remove a link where a file or folder of ours shall be: its target is somebody else's."""
    if path.is_symlink():
        path.unlink()


def _link(source: Path, target: Path) -> None:
    """Replace ``target`` by a hard link to ``source``, or by a copy where links fail."""
    # ``files.remove_unfinished`` recognizes this name if the process is killed.
    temporary = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
        temporary.replace(target)
    finally:
        # Renaming a hard link to another link of the same file does nothing: both names stay.
        temporary.unlink(missing_ok=True)


def _prune(reports: Path) -> None:
    """Remove the oldest folders of runs, except those that may be in use."""
    oldest = time.time() - MAYBE_IN_USE
    runs = sorted(entry for entry in reports.iterdir() if FOLDER.fullmatch(entry.name))
    for folder in runs[:-MOST_KEPT]:
        if not folder.is_symlink() and folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)
