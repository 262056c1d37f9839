"""``t2i report``: render a run.json as index.html and summary.md."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

from pytest_t2i.cli.support.arguments import path
from pytest_t2i.errors import ConfigurationError, printable
from pytest_t2i.reporting import write_all
from pytest_t2i.reporting.audit_sections import labelled_pictures
from pytest_t2i.runs.record.manifest import manifest_beside, rendered_anew
from pytest_t2i.runs.record.picture_paths import (
    STORE,
    check_labelled_pictures,
    exists,
    locate_pictures,
)
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.sections_files import files_beside
from pytest_t2i.runs.record.statement import PYPROJECT, TABLE, Statement, read_statement


def add_statement(parser: argparse.ArgumentParser) -> None:
    """Add ``--statement``, with the destination ``statement``."""
    parser.add_argument(
        "--statement",
        type=path,
        metavar=PYPROJECT,
        help=f"file whose table [{TABLE}] replaces the statement of the run",
    )


def with_statement(record: RunRecord, file: Path | None) -> RunRecord:
    """Return the record with the statement of a file, or unchanged without a file."""
    if file is None:
        return record
    statement = read_statement(file)
    if statement == Statement():
        raise ConfigurationError(
            f"--statement: expected a table [{TABLE}] in {file} with at least one field filled in"
        )
    return replace(record, statement=statement)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, the folder to write to, and the store of the pictures."""
    parser.add_argument("source", metavar="RUN", type=path, help="run.json to render")
    parser.add_argument("folder", metavar="FOLDER", type=path, help="folder to write to")
    parser.add_argument(
        "--store",
        type=path,
        action="append",
        metavar="DIR",
        help="store of the run's pictures, where it was moved; may be repeated, for folders of "
        "labelled images (default: where the run recorded them)",
    )
    add_statement(parser)


def run(source: Path, folder: Path, store: list[Path] | None, statement: Path | None = None) -> int:
    """Render a recorded run into a folder; return 0."""
    record = located(with_statement(read_run(source), statement), source, store or [])
    manifest = manifest_beside(source)
    for file in files_beside(record, source.parent):
        file.write(folder)
    write_all(record, folder, project=_shared_folder(source, folder))
    if manifest is not None:
        rendered_anew(manifest, source.parent, folder)
    files = record.files()
    gone = [file for file in files if not exists(file)]
    if gone:
        print(  # noqa: T201 - a command line tool
            f"{len(gone)} of {len(files)} pictures are not there any more, such as "
            f"{printable(gone[0])}. If their store was moved, name it with --store DIR",
            file=sys.stderr,
        )
    print(folder / "index.html")  # noqa: T201
    return 0


def _shared_folder(source: Path, folder: Path) -> Path:
    """Return the nearest folder that holds both the run's project and the rendered report.

    The project is the folder of the nearest .t2i, else that of the run.json.
    """
    here = source.absolute().parent
    project = next((up for up in (here, *here.parents) if (up / STORE).is_dir()), here)
    try:
        return Path(os.path.commonpath([project, folder.absolute()]))
    except ValueError:  # on different drives
        return folder


def located(record: RunRecord, source: Path, stores: list[Path]) -> RunRecord:
    """Return the record with the present paths of its pictures, labelled images included.

    Raises ConfigurationError where the record names pictures outside of the run's own folders, as
    a run.json from elsewhere may.
    """
    record = locate_pictures(record, source, stores)
    check_labelled_pictures(labelled_pictures(record.sections), source, stores)
    return record
