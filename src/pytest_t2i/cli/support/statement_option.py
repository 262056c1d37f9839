"""``--statement FILE``: the statement of a report, for a run without one."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pytest_t2i.cli.support.arguments import path
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.statement import PYPROJECT, TABLE, Statement, read_statement


def add_statement(parser: argparse.ArgumentParser) -> None:
    """Add ``--statement``, with the destination ``statement``."""
    parser.add_argument(
        "--statement",
        type=path,
        metavar=PYPROJECT,
        help=f"file whose table [{TABLE}] replaces the statement of the run",
    )


def with_statement(record: RunRecord, file: Path | None) -> RunRecord:
    """Return the record with the statement of a file, or unchanged without a file.

    Raises ConfigurationError where no field of the file is filled in.
    """
    if file is None:
        return record
    stated = read_statement(file)
    if stated == Statement():
        raise ConfigurationError(
            f"--statement: expected a table [{TABLE}] in {file} with at least one field filled in"
        )
    return replace(record, statement=stated)
