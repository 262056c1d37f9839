"""The tables of a run as CSV or Parquet files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from pytest_t2i.errors import MissingExtraError
from pytest_t2i.files import write_whole
from pytest_t2i.runs.record.frames import PlainTable, data_frame, tables
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.sections.escaping import cell, line


def write_tables(record: RunRecord, folder: Path, form: str) -> None:
    """Write a file for every table that has a row, or no file where one cannot be rendered."""
    contents = dict(_contents(record, form))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write_whole(folder / name, content)


def _contents(record: RunRecord, form: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file."""
    write = _csv if form == "csv" else _parquet
    for name, table in tables(record):
        if table.rows:
            yield f"{name}.{form}", write(table)


def _csv(table: PlainTable) -> bytes:
    """Return a table as CSV: None as an empty cell, and what looks like a formula as plain text."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    # Column names may hold labels, which are as untrusted as cells.
    writer.writerow([cell(line(name)) for name in table.columns])
    writer.writerows([cell(row[name]) for name in table.columns] for row in table.rows)
    return buffer.getvalue().encode()


def _parquet(table: PlainTable) -> bytes:
    buffer = io.BytesIO()
    try:
        data_frame(table).to_parquet(buffer, index=False)
    except ImportError:
        raise MissingExtraError("Parquet", "frames", "pyarrow") from None
    return buffer.getvalue()
