"""Reports of runs beside one another: a folder for each, the latest also as ``latest`` and above.

``reports/t2i/<run>/`` stays until newer ones push it out. ``latest/`` holds the same files, by hard
links where the file system has them, else as copies. The folder of reports itself shows the latest
run, too, under the paths that CI jobs read; its page and its manifest say where things are from
there.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock, Timeout

from pytest_t2i.audits.audit import Audit
from pytest_t2i.errors import StoreError
from pytest_t2i.files import checksum, explain, write_whole
from pytest_t2i.reporting import COMPARISON, RUN, set_aside, write_all
from pytest_t2i.runs.history import moment_and_model
from pytest_t2i.runs.manifest.document import NAME as MANIFEST
from pytest_t2i.runs.manifest.document import read_manifest
from pytest_t2i.runs.manifest.outputs import rendered_anew
from pytest_t2i.runs.record import RunRecord

LATEST = "latest"
PAGE, SUMMARY = "index.html", "summary.md"
FOLDER = re.compile(r"\d{8}T\d{6}-.+-[0-9a-f]{6}")
"""Names that ``new_folder`` gives."""
LOCK = ".latest.lock"
LONGEST_WAIT = 60.0
"""Seconds for another run to link its few files."""
MAYBE_IN_USE = 600.0
"""Seconds after its last change until which a run may still be writing a folder."""
UP = re.compile(r'href="\.\./')
"""Begins a link of a run's page to what lies outside of its folder, as all pictures do."""


def write_run(
    record: RunRecord,
    reports: Path,
    audits: Sequence[Audit[Any]] | None = None,
    project: Path | None = None,
) -> Path:
    """Write run.json, index.html and summary.md into a folder of their own; returns it.

    Its name begins with the time, so that folders sort. For the others see ``write_all``.
    """
    digest = checksum(record.to_json().encode())[:6]
    folder = reports / f"{moment_and_model(record)}-{digest}"
    write_all(record, folder, audits, project)
    return folder


def publish(folder: Path, reports: Path, most: int) -> None:
    """Make a run whose report and manifest are written the latest, and prune older folders.

    One run at a time: of two that end together the later one is shown, and never a mixture.

    Args:
        folder: of the run.
        reports: what it lies in.
        most: folders of runs that stay.

    Raises StoreError where the disk is full, or the folder cannot be written.
    """
    try:
        with FileLock(reports / LOCK, timeout=LONGEST_WAIT):
            _show(folder, reports)
            _prune(reports, most)
    except Timeout:
        raise StoreError(
            f"{reports}: another run has been writing there for {LONGEST_WAIT:.0f} seconds. "
            f"This one's report is in {folder}; if no other run is at work, delete {LOCK}."
        ) from None
    except OSError as error:
        raise StoreError(explain(reports, error)) from error


def _show(folder: Path, reports: Path) -> None:
    (reports / LATEST).mkdir(exist_ok=True)
    for name in (RUN, PAGE, SUMMARY, MANIFEST):
        _link(folder / name, reports / LATEST / name)
    set_aside(reports / COMPARISON)
    for name in (RUN, SUMMARY):
        _link(folder / name, reports / name)
    page = (folder / PAGE).read_text(encoding="utf-8")
    write_whole(reports / PAGE, UP.sub('href="', page).encode())
    rendered_anew(read_manifest(folder), folder, reports)


def _link(source: Path, target: Path) -> None:
    """The same file under a second name, or a copy of it where a file system has no such names."""
    # As mkstemp names files: what a killed process leaves is found by this.
    temporary = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        try:
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
        temporary.replace(target)
    finally:
        # Renaming one name of a file to another name of it leaves both.
        temporary.unlink(missing_ok=True)


def _prune(reports: Path, most: int) -> None:
    """Remove the oldest folders of runs; what may be in use stays."""
    oldest = time.time() - MAYBE_IN_USE
    runs = sorted(each for each in reports.iterdir() if FOLDER.fullmatch(each.name))
    for folder in runs[:-most]:
        if not folder.is_symlink() and folder.is_dir() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)
