"""``t2i export``: export a run as a section of a model card, a PDF or tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.report import add_statement, located, with_statement
from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.reporting.exports.cards import write_model_card
from pytest_t2i.reporting.exports.pdf import write_pdf
from pytest_t2i.reporting.exports.tables import write_tables
from pytest_t2i.runs.record.manifest import add_outputs
from pytest_t2i.runs.record.picture_paths import as_kept
from pytest_t2i.runs.record.read_run import read_run

FORMATS = {
    "card": "a Hugging Face model card, written or updated (README.md)",
    "pdf": "card and report as one PDF (fairness.pdf)",
    "parquet": "a Parquet file for each table, in a folder (tables)",
    "csv": "a CSV file for each table, in a folder (tables)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the format, the run, and the output."""
    words = "; ".join(f"{name}: {what}" for name, what in FORMATS.items())
    parser.add_argument("form", metavar="FORMAT", choices=FORMATS, help=words)
    parser.add_argument("source", metavar="RUN", type=path, help="run.json to export")
    parser.add_argument(
        "--output",
        type=path,
        metavar="PATH",
        help="file or folder to write (default: given with each format)",
    )
    parser.add_argument(
        "--store",
        type=path,
        metavar="DIR",
        help="pdf: store that holds the images (default: a .t2i beside or above the run)",
    )
    add_statement(parser)


def run(
    form: str,
    source: Path,
    output: Path | None,
    store: Path | None = None,
    statement: Path | None = None,
) -> int:
    """Write the run in a format, and print where; return 0."""
    record = with_statement(read_run(source), statement)
    if form == "card":
        target = output or Path("README.md")
        write_model_card(record, target)
    elif form == "pdf":
        target = output or Path("fairness.pdf")
        record = located(record, source, [store] if store else [])
        if not write_pdf(record, target):
            say('contents without page numbers, which need pypdf: pip install "pytest-t2i[pdf]"')
        add_outputs(source, (target,))
    else:
        target = output or Path("tables")
        write_tables(as_kept(record, Path.cwd()), target, form)
    print(target)  # noqa: T201 - a path, for scripts
    return 0
