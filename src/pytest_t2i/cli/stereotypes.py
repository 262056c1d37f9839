"""``t2i compare stereotypes``: print recorded runs side by side, as OASIS Tables 1 and 2 do."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_t2i.audits.stereotypes.side_by_side import side_by_side
from pytest_t2i.cli.support.arguments import add_confidence, path, value
from pytest_t2i.errors import ConfigurationError, printable
from pytest_t2i.files import write_whole
from pytest_t2i.prompts.internet_users import FORM
from pytest_t2i.reporting import markdown, terminal
from pytest_t2i.runs.compare.read_compared_models import read_runs
from pytest_t2i.settings import whole

EXAMPLE = "\n".join(f"  {line}".rstrip() for line in FORM.splitlines())
EPILOG = f"""\
Example of a file for --users. Numbers are in millions; nationalities are named
as in the stereotypes:

{EXAMPLE}

In a terminal, the tables fit its width. Elsewhere, and in the file of --out,
they are Markdown."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the runs, the numbers of internet users, and the output."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument(
        "sources", metavar="RUN", type=path, nargs="+", help="run.json files of stereotype tests"
    )
    parser.add_argument(
        "--users",
        type=path,
        metavar="FILE",
        help="TOML file of internet users by nationality, as below (default: those of OASIS 4.2)",
    )
    add_confidence(parser, "confidence level of the intervals")
    parser.add_argument(
        "--seed",
        type=value(whole(0)),
        default=0,
        metavar="N",
        help="seed of the resampling (default: 0)",
    )
    parser.add_argument(
        "--out", type=path, metavar="FILE", help="also write the tables to this file, as Markdown"
    )


def run(
    sources: Sequence[Path], *, users: Path | None, level: float, seed: int, out: Path | None
) -> int:
    """Print the tables: to fit a terminal, elsewhere as Markdown; return 0."""
    if out is not None and out.is_dir():
        raise ConfigurationError(f"--out: expected a file, {out} is a folder. Name a file in it")
    tables = side_by_side(read_runs(sources), users, level, seed)
    document = _joined(markdown.whole_lines(tables))
    # A pipe and a file have no width, unless COLUMNS gives one.
    is_narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = shutil.get_terminal_size().columns
    text = _joined(terminal.terminal_lines(tables, width)) if is_narrow else document
    print(printable(text), end="")  # noqa: T201 - a command line tool
    if out is not None:
        write_whole(out, document.encode())
    return 0


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
