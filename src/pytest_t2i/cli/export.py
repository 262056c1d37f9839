"""``t2i export``: export a run as a card, PDF, SARIF file, tables or MLflow run."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.report import add_statement, located, with_statement
from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.reporting.exports.cards import write_fairness_card, write_model_card
from pytest_t2i.reporting.exports.mlflow import log_to_mlflow
from pytest_t2i.reporting.exports.pdf import write_pdf
from pytest_t2i.reporting.exports.sarif import write_sarif
from pytest_t2i.reporting.exports.tables import write_tables
from pytest_t2i.runs.manifest import add_outputs
from pytest_t2i.runs.picture_paths import as_kept
from pytest_t2i.runs.read_run import read_run

FORMATS = {
    "card": "a Hugging Face model card, written or updated (README.md)",
    "fairness-card": "fairness-card.json and .html in a folder (the current one)",
    "pdf": "card and report as one PDF (fairness.pdf)",
    "sarif": "a SARIF file for code-scanning pages (fairness.sarif)",
    "parquet": "a Parquet file for each table, in a folder (tables)",
    "csv": "a CSV file for each table, in a folder (tables)",
    "mlflow": "a run of an MLflow experiment",
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
        "--author",
        action="append",
        default=[],
        metavar="NAME",
        help="author named in a Fairness Card or PDF; may be repeated",
    )
    parser.add_argument(
        "--experiment", default="fairness", metavar="NAME",
        help="mlflow: experiment to log to (default: fairness)",
    )  # fmt: skip
    parser.add_argument(
        "--store",
        type=path,
        metavar="DIR",
        help="pdf: store that holds the images (default: a .t2i beside or above the run)",
    )
    parser.add_argument(
        "--tracking", metavar="URI", help="mlflow: address of the server or database"
    )
    add_statement(parser)


def run(
    form: str,
    source: Path,
    output: Path | None,
    author: list[str],
    experiment: str,
    tracking: str | None,
    store: Path | None = None,
    statement: Path | None = None,
) -> int:
    """Write the run in a format, and print where; return 0."""
    record = with_statement(read_run(source), statement)
    if form == "card":
        target = output or Path("README.md")
        write_model_card(record, target)
    elif form == "fairness-card":
        target = (output or Path()) / "fairness-card.html"
        write_fairness_card(record, target.parent, tuple(author))
        add_outputs(source, "card", (target, target.with_suffix(".json")))
    elif form == "pdf":
        target = output or Path("fairness.pdf")
        record = located(record, source, [store] if store else [])
        if not write_pdf(record, target, tuple(author)):
            say('contents without page numbers, which need pypdf: pip install "pytest-t2i[pdf]"')
        add_outputs(source, "pdf", (target,))
    elif form == "sarif":
        target = output or Path("fairness.sarif")
        write_sarif(record, target)
    elif form == "mlflow":
        id_ = log_to_mlflow(record, source.parent, experiment, tracking)
        say(f"MLflow run {id_} of experiment {experiment!r}")
        return 0
    else:
        target = output or Path("tables")
        write_tables(as_kept(record, Path.cwd()), target, form)
    print(target)  # noqa: T201 - a path, for scripts
    return 0
